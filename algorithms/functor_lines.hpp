// The lines, views of rank 1, that a functor holds as its members:
//
//   struct axpy {
//     double a;
//     Vector x, y;
//     void operator()(index_t i) const { y(i) += a * x(i); }
//   };
//
// They are found in aggregates whose members, at most 8, are lines and numbers, by initializing these with
// objects that convert to nothing else. Such a functor is launched as one that is bound to its views by
// `with`. Of any other type nothing is known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <strata/algorithms/kernel_parameters.hpp>
#include <strata/algorithms/separate_arrays.hpp>
#include <strata/devices/array_addresses.hpp>

namespace strata::inline STRATA_ABI::detail {

// Convert to a line or a number; to anything; to what K is derived from.
struct AnyMember {
  template <class T>
  requires(std::is_arithmetic_v<T> || is_plain_line<T>) operator T() const;
};
struct Anything {
  template <class T>
  operator T() const;
};
template <class K>
struct AnyBaseOf {
  template <class B>
  requires(std::is_base_of_v<B, K> && !std::is_same_v<B, K>) operator B() const;
};
template <std::size_t>
using AnyMemberAt = AnyMember;

template <class K, class... Next, std::size_t... I>
constexpr bool begins_with_members(std::index_sequence<I...>) {
  return requires { K{AnyMemberAt<I>()..., Next()...}; };
}
// Whether what follows the first members takes several initializers: an array or an aggregate.
template <class K, std::size_t... I>
constexpr bool goes_on_with_several(std::index_sequence<I...>) {
  return requires { K{AnyMemberAt<I>()..., {AnyMember(), AnyMember()}}; }
  || (
         requires {
           K{AnyMemberAt<I>()..., AnyNumber()};
         } &&
         requires {
           K{AnyMemberAt<I>()..., {{AnyNumber()}}};
         });
}

// Whether there is a further member that needs no value, of whichever type.
template <class K, std::size_t... I>
constexpr bool goes_on_by_default(std::index_sequence<I...>) {
  return requires { K{AnyMemberAt<I>()..., {}}; };
}

// The members of an aggregate of lines and numbers, of which `Count` are known; -1 for other types.
template <class K, std::size_t Count = 0>
constexpr int count_members() {
  constexpr std::size_t most = 8;
  using Known = std::make_index_sequence<Count>;
  if constexpr (begins_with_members<K>(std::make_index_sequence<Count + 1>())) {
    if constexpr (Count == most || goes_on_with_several<K>(Known())) return -1;
    else return count_members<K, Count + 1>();
  } else if constexpr (begins_with_members<K, Anything>(Known()) || goes_on_by_default<K>(Known())) {
    return -1;
  } else {
    return static_cast<int>(Count);
  }
}
template <class K>
constexpr int members_of() {
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  // The host's compiler sees a class of nvcc's in the place of a lambda, and would decide otherwise.
  if constexpr (__nv_is_extended_device_lambda_closure_type(K) ||
                __nv_is_extended_host_device_lambda_closure_type(K))
    return -1;
#endif
  if constexpr (!std::is_aggregate_v<K> || std::is_empty_v<K> || std::is_union_v<K> ||
                !std::is_copy_assignable_v<K>)
    return -1;
  else if constexpr (
      !requires { K{}; } || requires { K{AnyBaseOf<K>()}; })
    return -1;  // has references, a base
  else return count_members<K>();
}

// Calls f(the members of `functor`...).
template <int Count, class K, class F>
STRATA_FUNCTION decltype(auto) with_members(const K& functor, const F& f) {
  static_assert(Count > 0 && Count <= 8);
  if constexpr (Count == 1) {
    const auto& [a] = functor;
    return f(a);
  } else if constexpr (Count == 2) {
    const auto& [a, b] = functor;
    return f(a, b);
  } else if constexpr (Count == 3) {
    const auto& [a, b, c] = functor;
    return f(a, b, c);
  } else if constexpr (Count == 4) {
    const auto& [a, b, c, d] = functor;
    return f(a, b, c, d);
  } else if constexpr (Count == 5) {
    const auto& [a, b, c, d, e] = functor;
    return f(a, b, c, d, e);
  } else if constexpr (Count == 6) {
    const auto& [a, b, c, d, e, g] = functor;
    return f(a, b, c, d, e, g);
  } else if constexpr (Count == 7) {
    const auto& [a, b, c, d, e, g, h] = functor;
    return f(a, b, c, d, e, g, h);
  } else {
    const auto& [a, b, c, d, e, g, h, i] = functor;
    return f(a, b, c, d, e, g, h, i);
  }
}

struct ListMembers {
  template <class... M>
  STRATA_FUNCTION constexpr TypeList<M...> operator()(const M&...) const {
    return {};
  }
};
template <class Lines, class... M>
struct LinesAmong {
  using type = Lines;
};
template <class... Line, class First, class... Rest>
struct LinesAmong<TypeList<Line...>, First, Rest...>
    : LinesAmong<std::conditional_t<is_plain_line<First>, TypeList<Line..., First>, TypeList<Line...>>,
                 Rest...> {};

// The lines of functors whose members are of these types.
template <class>
struct LinesOfMembers;
template <class... M>
struct LinesOfMembers<TypeList<M...>> {
  static constexpr bool are_known = ((is_plain_line<M> || std::is_arithmetic_v<M>)&&...);
  using Lines =
      typename std::conditional_t<are_known, LinesAmong<TypeList<>, M...>, LinesAmong<TypeList<>>>::type;

  // The number, among the lines, of member I.
  template <std::size_t I>
  static constexpr std::size_t number() {
    constexpr int end = static_cast<int>(I);  // nvcc warns of sizes that are compared with 0
    int k = 0, lines = 0;
    ((lines += k++ < end && is_plain_line<M>), ...);
    return static_cast<std::size_t>(lines);
  }
};

template <class K>
struct FunctorLines {
  static constexpr int count = members_of<K>();
  template <int Count>
  static constexpr auto find_members() {
    if constexpr (Count > 0) return decltype(with_members<Count>(std::declval<const K&>(), ListMembers()))();
    else return TypeList<>();
  }
  using Members = decltype(find_members<count>());
  using Lines = typename LinesOfMembers<Members>::Lines;

  // The addresses of their elements, in the order of the members.
  static ArrayAddresses arrays(const K& functor) {
    ArrayAddresses all;
    int lines = 0;
    const auto add = [&](const auto& member) {
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (is_plain_line<M>) all.at[lines++] = address_of_line(member);
    };
    with_members<count>(functor, [&](const auto&... member) { (add(member), ...); });
    return all;
  }
  // Whether they share no memory.
  static bool are_separate(const K& functor) {
    Addresses of[ArrayAddresses::most];
    int lines = 0;
    const auto add = [&](const auto& member) {
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (is_plain_line<M>) of[lines++] = addresses_of(member);
    };
    with_members<count>(functor, [&](const auto&... member) { (add(member), ...); });
    return share_nothing(of, lines);
  }
  // What item `i` has of them.
  template <bool Opaque>
  STRATA_FUNCTION static ElementBits bits_at(const K& functor, index_t i) {
    ElementBits all;
    int lines = 0;
    const auto add = [&](const auto& member) {
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (is_plain_line<M>) all.of[lines++] = bits_of_element<Opaque>(member, i);
    };
    with_members<count>(functor, [&](const auto&... member) { (add(member), ...); });
    return all;
  }
  static bool hold_elements(const K& functor, index_t begin, index_t end) {
    bool all = true;
    const auto look_at = [&](const auto& member) {
      using M = std::remove_cvref_t<decltype(member)>;
      if constexpr (is_plain_line<M>) all = all && holds_elements(member, begin, end);
    };
    with_members<count>(functor, [&](const auto&... member) { (look_at(member), ...); });
    return all;
  }
  // The functor with lines of arrays at other addresses.
  STRATA_FUNCTION static K on_arrays(const K& functor, const ArrayAddresses& arrays) {
    return with_members<count>(functor, [&](const auto&... member) {
      return moved(std::index_sequence_for<decltype(member)...>(), arrays, member...);
    });
  }

 private:
  template <std::size_t... I, class... M>
  STRATA_FUNCTION static K moved(std::index_sequence<I...>, const ArrayAddresses& arrays,
                                 const M&... member) {
    return K{moved_member<LinesOfMembers<Members>::template number<I>()>(arrays, member)...};
  }
  template <std::size_t Line, class M>
  STRATA_FUNCTION static M moved_member([[maybe_unused]] const ArrayAddresses& arrays, const M& member) {
    if constexpr (is_plain_line<M>) return moved_line(member, arrays.at[Line]);
    else return member;
  }
};

}  // namespace strata::inline STRATA_ABI::detail
