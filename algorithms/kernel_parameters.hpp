// What the types of a kernel's parameters say: whether its index is an integer, and whether it takes by value
// what it is handed by reference.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <strata/core/lane_index.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class...>
struct TypeList {};

// The first parameter of a call operator that is neither overloaded nor a template.
template <class>
struct FirstParameter {
  using type = void;
};
template <class R, class C, class A, class... Rest>
struct FirstParameter<R (C::*)(A, Rest...) const> {
  using type = std::remove_cvref_t<A>;
};
template <class R, class C, class A, class... Rest>
struct FirstParameter<R (C::*)(A, Rest...) const noexcept> {
  using type = std::remove_cvref_t<A>;
};

// Kernels whose index parameter is an integer run in plain loops; all others are handed the device's index
// type.
template <class K>
constexpr bool takes_any_index() {
  if constexpr (requires { &K::operator(); })
    return is_lane_index_v<typename FirstParameter<decltype(&K::operator())>::type>;
  else return true;
}
// Whether its index parameter is an int.
template <class K>
constexpr bool takes_int_index() {
  if constexpr (requires { &K::operator(); })
    return std::is_same_v<typename FirstParameter<decltype(&K::operator())>::type, int>;
  else return false;
}

// Whether `F` has a const call operator, generic or not, whose parameters are exactly `A`. Its body is not
// instantiated where they are not.
template <class F, class... A>
concept HasCall = requires {
  static_cast<void (F::*)(A...) const>(&F::operator());
};
// The same, indices and views being taken by value or by reference.
template <class F, class... I, class... V, class... T>
constexpr bool takes_exactly(TypeList<I...>, TypeList<V...>, TypeList<T...>) {
  return HasCall<F, I..., V..., T...> || HasCall<F, I..., const V&..., T...> ||
         HasCall<F, I..., V&&..., T...> || HasCall<F, const I&..., V..., T...> ||
         HasCall<F, const I&..., const V&..., T...> || HasCall<F, const I&..., V&&..., T...>;
}
// Of a call operator that is neither overloaded nor a template: whether one of `Values`, which come after the
// first `Before` parameters, is taken by value though it is handed by reference.
template <class>
struct CallParameters {
  template <std::size_t Before, class... Values>
  static constexpr bool by_value = false;
};
template <class R, class C, class... A>
struct CallParameters<R (C::*)(A...) const> {
  template <std::size_t Before, class... Values>
  static constexpr bool by_value = [] {
    if constexpr (sizeof...(A) >= Before + sizeof...(Values)) {  // more have defaults
      const bool is_value[] = {!std::is_reference_v<A>...};
      const bool handed_by_reference[] = {std::is_lvalue_reference_v<Values>...};
      for (std::size_t k = 0; k < sizeof...(Values); ++k)
        if (handed_by_reference[k] && is_value[Before + k]) return true;
    }
    return false;
  }();
};
template <class R, class C, class... A>
struct CallParameters<R (C::*)(A...) const noexcept> : CallParameters<R (C::*)(A...) const> {};

template <class... T>
constexpr std::size_t length_of(TypeList<T...>) {
  return sizeof...(T);
}

// Whether `F` takes by value, which loses what it adds, one or all of `Values` that it is handed by
// reference.
template <class F, class... Values, class I, class V>
constexpr bool takes_by_value(I indices, V views) {
  constexpr bool handed_by_reference = (std::is_lvalue_reference_v<Values> || ...);
  if constexpr (!handed_by_reference) {
    return false;
  } else if constexpr (requires { &F::operator(); }) {
    constexpr std::size_t before = length_of(I()) + length_of(V());
    return CallParameters<decltype(&F::operator())>::template by_value<before, Values...>;
  } else {
    const auto one_of = [&]<std::size_t... Q>(std::index_sequence<Q...>) {
      const auto is_by_value = [&]<std::size_t One>(std::integral_constant<std::size_t, One>) {
        return takes_exactly<F>(
            indices, views,
            TypeList<std::conditional_t<Q == One, std::remove_reference_t<Values>, Values>...>());
      };
      const bool is_reference[] = {std::is_lvalue_reference_v<Values>...};
      return ((is_reference[Q] && is_by_value(std::integral_constant<std::size_t, Q>())) || ...);
    };
    return takes_exactly<F>(indices, views, TypeList<std::remove_reference_t<Values>...>()) ||
           one_of(std::index_sequence_for<Values...>());
  }
}
template <class... A, class... B>
constexpr TypeList<A..., B...> append(TypeList<A...>, TypeList<B...>) {
  return {};
}
template <class Tag>
using TagList = std::conditional_t<std::is_void_v<Tag>, TypeList<>, TypeList<Tag>>;

}  // namespace strata::inline STRATA_ABI::detail
