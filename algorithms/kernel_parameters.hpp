// Properties of the types of a kernel's parameters: whether its index is an integer, and whether it takes by
// value an argument that is passed by reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <strata/core/lane_index.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class...>
struct TypeList {};
template <class... A, class... B>
constexpr TypeList<A..., B...> append(TypeList<A...>, TypeList<B...>) {
  return {};
}
template <class Tag>
using TagList = std::conditional_t<std::is_void_v<Tag>, TypeList<>, TypeList<Tag>>;

// Whether a kernel can be called with the types of a list. A mistake in its body is an error here; a requires
// expression adds one line to what the compiler says of it, std::is_invocable adds five.
template <class F, class List>
inline constexpr bool is_callable = false;
template <class F, class... A>
inline constexpr bool is_callable<F, TypeList<A...>> = requires(const F& f) {
  f(std::declval<A>()...);
};

// For messages: an argument, in place of an `Index`, that converts to any type. A kernel that can be called
// with such arguments, and not with indices, has index parameters of a wrong type.
template <class Index>
struct AnyArgument {
  template <class T>
  operator T() const;
};

template <class...>
struct First;
template <class T, class... Rest>
struct First<T, Rest...> {
  using type = T;
};

// The parameters of a call operator that is neither overloaded nor a template; none are known of one that is
// not const.
template <class>
struct CallParameters {
  using first = void;
  template <std::size_t Before, class... Values>
  static constexpr bool by_value = false;
};
template <class R, class C, class... A>
struct CallParameters<R (C::*)(A...) const> {
  using first = std::remove_cvref_t<typename First<A..., void>::type>;
  // Whether one of `Values`, which come after the first `Before` parameters, is taken by value though it is
  // passed by reference.
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

// The kernel whose parameters count: that of the user, in one of the library around it. (No name that the
// library looks for in a functor: users have members of any name.)
template <class K>
struct KernelWithin {
  using type = K;
};

// The type of a kernel's first parameter, its index unless it has a tag; AnyParameter where the call operator
// is overloaded or a template.
struct AnyParameter {};
template <class F>
struct FirstParameter {
  using type = AnyParameter;
};
template <class F>
requires requires { &F::operator(); }
struct FirstParameter<F> {
  using type = typename CallParameters<decltype(&F::operator())>::first;
};
template <class K>
using FirstParameterOf = typename FirstParameter<typename KernelWithin<K>::type>::type;

template <class K>
constexpr bool takes_lane_index() {
  return is_lane_index_v<FirstParameterOf<K>>;
}
template <class K>
constexpr bool takes_int_index() {
  return std::is_same_v<FirstParameterOf<K>, int>;
}
// Kernels whose index parameter is an integer run in plain loops; all others are called with the device's
// index type.
template <class K>
constexpr bool takes_any_index() {
  return std::is_same_v<FirstParameterOf<K>, AnyParameter> || takes_lane_index<K>();
}

template <class... T>
constexpr std::size_t length_of(TypeList<T...>) {
  return sizeof...(T);
}

// For call operators that are overloaded or templates overload resolution decides, with a rival for the same
// arguments that takes the value in question as `const volatile T&`. A kernel that takes the value by
// reference is the better match; with one that takes it by value the match is equal, and the rival is chosen
// because it is not a template. All other parameters of the rival match exactly. The body of the kernel is
// instantiated only if the kernel is chosen, and so only for the arguments of the launch.
struct RivalChosen {};
template <class F, class... Parameters>
struct WithRival : F {
  using F::operator();
  RivalChosen operator()(Parameters...) const;
};
// An argument that converts to every type that A converts to. A rival that takes it without a conversion is a
// better match than any other function that is not a template.
template <class A>
struct ConvertibleAs {
  template <class To>
  requires std::is_convertible_v<A, To>
  operator To() const;
};
enum class Chosen { Kernel, Rival, Neither };
template <class Called, class... Arguments>
constexpr Chosen chosen_of() {
  if constexpr (!requires(const Called& f) { f(std::declval<Arguments>()...); }) return Chosen::Neither;
  else if constexpr (std::is_same_v<decltype(std::declval<const Called&>()(std::declval<Arguments>()...)),
                                    RivalChosen>)
    return Chosen::Rival;
  else return Chosen::Kernel;
}
template <class F, class... P, class First, class... Rest>
constexpr bool rival_is_chosen(TypeList<P...>, TypeList<First, Rest...>) {
  constexpr Chosen chosen = chosen_of<WithRival<F, First, P...>, First, Rest...>();
  // If neither is chosen, the rival and one of several call operators, both not templates, may be equal
  // matches: this argument decides.
  using Again = ConvertibleAs<First>;
  if constexpr (chosen == Chosen::Neither)
    return chosen_of<WithRival<F, Again, P...>, Again, Rest...>() == Chosen::Rival;
  else return chosen == Chosen::Rival;
}
// nvcc 13.0: its front end decides by the index before it compares references, and so wrongly chooses the
// rival of a kernel of (index_t, auto&) that is called with a lane: it does not check. The host's compiler,
// which compiles the same launch afterwards, does. The answer depends on `F`, as nvcc would otherwise pass on
// its own.
struct TakesReference {
  void operator()(index_t, auto&) const {}
};
template <class F>
constexpr bool can_have_rival() {
  using Index = LaneIndex<sizeof(F) == 0 ? 1 : 2>;
  using Rival = WithRival<TakesReference, Index, const volatile int&>;
  if constexpr (std::is_class_v<F> && !std::is_final_v<F>)
    return chosen_of<Rival, Index, int&>() == Chosen::Neither;
  else return false;
}
// Whether value number `One` is taken by value.
template <std::size_t One, class F, class First, class... I, class... V, class... Values, std::size_t... Q>
constexpr bool takes_one_by_value(TypeList<First, I...>, TypeList<V...>, TypeList<Values...>,
                                  std::index_sequence<Q...>) {
  return rival_is_chosen<F>(
      TypeList<I..., V...,
               std::conditional_t<Q == One, const volatile std::remove_reference_t<Values>&, Values>...>(),
      TypeList<First, I..., V..., Values...>());
}

// Whether `F`, which can be called with all of them, takes by value one of `Values` that is passed by
// reference: what it adds is lost.
template <class F, class... Values, class I, class V>
constexpr bool takes_by_value(I indices, V views) {
  constexpr bool handed_by_reference = (std::is_lvalue_reference_v<Values> || ...);
  if constexpr (!handed_by_reference) {
    return false;
  } else if constexpr (requires { &F::operator(); }) {
    constexpr std::size_t before = length_of(I()) + length_of(V());
    return CallParameters<decltype(&F::operator())>::template by_value<before, Values...>;
  } else if constexpr (can_have_rival<F>()) {
    const auto one_of = [&]<std::size_t... Q>(std::index_sequence<Q...> all) {
      const bool is_reference[] = {std::is_lvalue_reference_v<Values>...};
      return ((is_reference[Q] && takes_one_by_value<Q, F>(indices, views, TypeList<Values...>(), all)) ||
              ...);
    };
    return one_of(std::index_sequence_for<Values...>());
  } else {
    return false;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
