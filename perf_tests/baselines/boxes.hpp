// Competitors of boxes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/box_formulas.hpp"
#include "common/competitor.hpp"

namespace perf {

/// Arrays over the points of a cube, or of a square, of so many points an edge.
template <class T>
struct BoxArrays {
  const T* u;
  T* v;
  std::ptrdiff_t edge;
};

/// A point a thread, or walks over 4 or 8 points, in the best shape of block. `Formula` as in
/// box_formulas.hpp, for T = float and double.
template <class Formula, class T>
Sweep box_by_hand(CudaPlace place, BoxArrays<T> arrays);
/// v(i, j, k) = u(j, i, k): as above, and through shared memory.
template <class T>
Sweep transposition_by_hand(CudaPlace place, BoxArrays<T> arrays);
/// Five points of a square, as the boxes.
template <class T>
Sweep plane_by_hand(CudaPlace place, BoxArrays<T> arrays);

/// The points of a cube that are not on its surface, and host memory for a sum over them.
template <class T>
struct BoxSum {
  const T* u;
  std::ptrdiff_t edge;
  T* result;
};

/// The sum of `Formula` over the points, in the best shape of block and length of walk. The first index is
/// the fastest one.
template <class Formula, class T>
Sweep box_sum_by_hand(CudaPlace place, BoxSum<T> sum);
/// The sum of `plane_by_hand`.
template <class T, class At>
STRATA_PERF_FUNCTION T five_points(const At& at) {
  return 2 * at(0, 0) + T(0.25) * (at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1));
}

}  // namespace perf
