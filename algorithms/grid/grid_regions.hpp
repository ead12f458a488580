// What the work items of a part of a grid, those of one device, touch of an array: grid.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/coherent_access.hpp>
#include <strata/algorithms/grid/grid_parts.hpp>

namespace strata::inline STRATA_ABI::detail {

// Whether an access without a region is that of the elements of its items: of what is written.
template <class Access>
constexpr bool writes_elements(const Access& access) {
  if constexpr (std::is_same_v<typename Access::region_type, Own> && writes(Access::mode))
    return access.by_default;
  else return false;
}
// In how many dimensions a region is a box; of one that names no index of the work, 1.
template <class Region>
inline constexpr int dimensions_named = 1;
template <>
inline constexpr int dimensions_named<OwnElement> = max_rank;
template <int Rank, class Edge>
inline constexpr int dimensions_named<BoxHalo<Rank, Edge>> = Rank;

template <class Access>
ArrayPart region_of_items(const Access& access, const GridItems& items) {
  const Box& domain = access.array.domain();
  if (writes_elements(access)) return part_of_items(own_element, domain, items.all(), access.array.label());
  return part_of_items(access.region, domain, items.all(), access.array.label());
}

}  // namespace strata::inline STRATA_ABI::detail
