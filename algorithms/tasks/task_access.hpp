// How tasks use coherent arrays: in, out, inout as launches do, commute and reduce.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_access.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// See commute().
struct CommutingMark {};
template <class Access>
using CommutingAccess = MarkedAccess<CommutingMark, Access>;
template <class Access>
inline constexpr bool is_commuting_v = is_marked_v<CommutingMark, Access>;

}  // namespace detail

/// An update whose order among updates that commute is free, such as a sum: inout, but tasks that only
/// commute do not wait for each other, and run one at a time. Of all of the array; of a part of it, tasks
/// keep their order. Outside of a graph of tasks it is inout.
template <class T, int Rank, class L>
auto commute(const BasicCoherentArray<T, Rank, L>& array) {
  using Access = decltype(inout(array));
  return detail::CommutingAccess<Access>{inout(array)};
}
template <class T, int Rank, class L, AccessRegion Region>
auto commute(const BasicCoherentArray<T, Rank, L>& array, const Region& region) {
  using Access = decltype(inout(array, region));
  return detail::CommutingAccess<Access>{inout(array, region)};
}

/// How contributions to an element join by default: they are added, to 0.
struct AddContributions {
  /// The value without contributions.
  template <class T>
  STRATA_FUNCTION static constexpr T identity() {
    return T{};
  }
  /// The value with those of both.
  template <class T>
  STRATA_FUNCTION constexpr T operator()(const T& a, const T& b) const {
    return a + b;
  }
};

/// Made by reduce().
template <class Array, class Join>
struct ReduceAccess {
  using array_type = Array;  ///< of the array
  Array array;               ///< to which
  Join join;                 ///< how
};

/// For tasks of a graph: contributions to an array, from tasks that run at once on several devices. The task
/// gets a private copy of the array, in which it joins its contributions with what is there, at any element;
/// before the next task that uses the array otherwise, and before the end of the run, the copies join the
/// array. `join(a, b)` is associative and commutative, with `join.identity<T>()` where nobody has
/// contributed: AddContributions, or a functor of one's own. The order in which contributions join is free:
/// sums of floating-point numbers differ in their last digits from run to run. Work items that contribute to
/// the same element do so by atomics.
template <class T, int Rank, class L, class Join = AddContributions>
ReduceAccess<BasicCoherentArray<T, Rank, L>, Join> reduce(const BasicCoherentArray<T, Rank, L>& array,
                                                          const Join& join = {}) {
  static_assert(
      std::is_empty_v<Join>,
      "strata: reduce: how contributions join is a functor without data members, as all that have its type "
      "share their copies");
  return {array, join};
}

namespace detail {

template <class>
inline constexpr bool is_contribution_v = false;
template <class A, class J>
inline constexpr bool is_contribution_v<ReduceAccess<A, J>> = true;

}  // namespace detail

}  // namespace strata::inline STRATA_ABI
