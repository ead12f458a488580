// The values of the lanes of a reduction on hosts. Those of a struct of numbers lie member by member, so that
// the compiler loads and stores vectors of lanes without shuffling them; other values lie one after the
// other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Becomes any number of four bytes or more, without a conversion.
struct NumberMember {
  template <class E>
  requires(std::is_arithmetic_v<E> && sizeof(E) >= 4) operator E()
      const;  // NOLINT(google-explicit-constructor)
};
template <std::size_t>
using NumberMemberAt = NumberMember;

template <class T>
struct AnyBaseClassOf {
  template <class B>
  requires(std::is_base_of_v<B, T> && !std::is_same_v<B, T>) operator B()
      const;  // NOLINT(google-explicit-constructor)
};

/// Becomes a member of any kind.
struct AnyMemberOfValue {
  template <class E>
  operator E() const;  // NOLINT(google-explicit-constructor)
};

// Whether number `At` of them may have two pairs of braces, which arrays and structs take, and numbers do
// not.
template <class T, std::size_t At, std::size_t... I, std::size_t... J>
constexpr bool has_braces_at(std::index_sequence<I...>, std::index_sequence<J...>) {
  return requires { T{NumberMemberAt<I>()..., {{NumberMember()}}, NumberMemberAt<At + J>()...}; };
}
template <class T, std::size_t... I>
constexpr bool has_inner_members(std::index_sequence<I...>) {
  constexpr std::size_t count = sizeof...(I);
  return (has_braces_at<T, I>(std::make_index_sequence<I>(), std::make_index_sequence<count - 1 - I>()) ||
          ...);
}

// Whether T has as many members, numbers all of them.
template <class T, std::size_t... I>
constexpr bool has_numbers(std::index_sequence<I...> all) {
  if constexpr (
      !requires { T{{NumberMemberAt<I>()}...}; } || !requires { T{NumberMemberAt<I>()...}; })
    return false;
  else if constexpr (
      requires {
        T{NumberMemberAt<I>()..., {}};
      } ||
      requires {
        T{NumberMemberAt<I>()..., AnyMemberOfValue()};
      })
    return false;  // goes on
  else return !has_inner_members<T>(all);
}

template <class T>
concept HasTupleSize = requires {
  std::tuple_size<T>::value;
};

/// The number of members of a struct of two to six numbers; 0 for other types.
template <class T>
constexpr int count_numbers() {
  if constexpr (requires { T::lane_numbers; }) return T::lane_numbers;
  else if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> || !std::is_trivially_copyable_v<T> ||
                     !std::is_copy_assignable_v<T> || !std::is_default_constructible_v<T> || HasTupleSize<T>)
    return 0;
  else if constexpr (requires { T{AnyBaseClassOf<T>()}; }) return 0;
  else if constexpr (has_numbers<T>(std::make_index_sequence<2>())) return 2;
  else if constexpr (has_numbers<T>(std::make_index_sequence<3>())) return 3;
  else if constexpr (has_numbers<T>(std::make_index_sequence<4>())) return 4;
  else if constexpr (has_numbers<T>(std::make_index_sequence<5>())) return 5;
  else if constexpr (has_numbers<T>(std::make_index_sequence<6>())) return 6;
  else return 0;
}

/// Calls f with the members of a struct of `Count` numbers.
template <int Count, class T, class F>
constexpr decltype(auto) with_numbers(const T& value, const F& f) {
  if constexpr (requires { T::lane_numbers; }) {
    return value.with_lane_numbers(f);
  } else if constexpr (Count == 2) {
    const auto& [a, b] = value;
    return f(a, b);
  } else if constexpr (Count == 3) {
    const auto& [a, b, c] = value;
    return f(a, b, c);
  } else if constexpr (Count == 4) {
    const auto& [a, b, c, d] = value;
    return f(a, b, c, d);
  } else if constexpr (Count == 5) {
    const auto& [a, b, c, d, e] = value;
    return f(a, b, c, d, e);
  } else {
    const auto& [a, b, c, d, e, g] = value;
    return f(a, b, c, d, e, g);
  }
}

template <std::size_t, class E, int N>
struct MemberLanes {
  E at[N];
};
template <int N, class Numbers, class... E>
struct AllMemberLanes;
template <int N, std::size_t... I, class... E>
struct AllMemberLanes<N, std::index_sequence<I...>, E...> : MemberLanes<I, E, N>... {
  template <class T>
  T get(int lane) const {
    return T{this->MemberLanes<I, E, N>::at[lane]...};
  }
  void set(int lane, const E&... members) {
    static_cast<void>(((this->MemberLanes<I, E, N>::at[lane] = members), ...));
  }
};

/// Values of N lanes.
template <class T, int N, int Numbers = count_numbers<T>()>
class LaneValues {
 public:
  T get(int lane) const { return members_.template get<T>(lane); }
  void set(int lane, const T& value) {
    with_numbers<Numbers>(value, [&](const auto&... members) { members_.set(lane, members...); });
  }
  template <class Reducer>
  void init(int lane, const Reducer& reducer) {
    T value;
    reducer.init(value);
    set(lane, value);
  }
  /// Calls f(the value), which changes it.
  template <class F>
  void use(int lane, const F& f) {
    T value = get(lane);
    f(value);
    set(lane, value);
  }

 private:
  struct MakeLanes {
    template <class... E>
    AllMemberLanes<N, std::index_sequence_for<E...>, E...> operator()(const E&...) const {
      return {};
    }
  };
  decltype(with_numbers<Numbers>(std::declval<const T&>(), MakeLanes())) members_;
};

template <class T, int N>
class LaneValues<T, N, 0> {
 public:
  T& get(int lane) { return values_[lane]; }
  template <class U>
  void set(int lane, U&& value) {
    values_[lane] = static_cast<U&&>(value);
  }
  template <class Reducer>
  void init(int lane, const Reducer& reducer) {
    reducer.init(values_[lane]);
  }
  template <class F>
  void use(int lane, const F& f) {
    f(values_[lane]);
  }

 private:
  T values_[N];
};

}  // namespace strata::inline STRATA_ABI::detail
