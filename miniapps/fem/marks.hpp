// Marks, one for each node or face: set from a list, and listed again, ascending. On the device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/algorithms/reducers.hpp>
#include <strata/miniapps/fem/mesh.hpp>

namespace strata::inline STRATA_ABI::fem::detail {

struct MarkListed {
  STRATA_FUNCTION void operator()(index_t q, auto list, auto marks) const { marks(list(q)) = 1; }
};

struct CountMarked {
  STRATA_FUNCTION void operator()(index_t i, auto marks, index_t& count) const { count += marks(i) != 0; }
};

struct ListMarked {
  STRATA_FUNCTION void operator()(index_t i, auto marks, auto list, index_t& before, bool final) const {
    const bool marked = marks(i) != 0;
    if (marked && final) list(before) = static_cast<std::int32_t>(i);
    before += marked;
  }
};

/// The i with marks(i) != 0; a mark for each of up to 2^31 things. Waits.
template <class Arrays, class Marks>
NodeList<Arrays> list_marked(const char* label, const Marks& marks,
                             const typename Arrays::device_type& device) {
  index_t count = 0;
  parallel_reduce("count marked", on(device), marks.extent(0), with(CountMarked{}, marks), Sum(count));
  const NodeList<Arrays> list = create<NodeList<Arrays>>(label, count, uninitialized, on(device));
  parallel_scan("list marked", on(device), marks.extent(0), with(ListMarked{}, marks, list), sum_of<index_t>);
  wait(device);
  return list;
}

}  // namespace strata::inline STRATA_ABI::fem::detail
