// How tasks use coherent arrays: in, out, inout as launches do, and commute.
#pragma once

#include <strata/algorithms/coherent_access.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// See commute().
template <class Access>
struct CommutingAccess : Access {};
template <class>
inline constexpr bool is_commuting_v = false;
template <class Access>
inline constexpr bool is_commuting_v<CommutingAccess<Access>> = true;
template <class Access>
inline constexpr bool is_coherent_access_v<CommutingAccess<Access>> = true;

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

}  // namespace strata::inline STRATA_ABI
