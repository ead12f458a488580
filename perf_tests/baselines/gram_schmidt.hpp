// Competitors of gram_schmidt on GPUs: the algorithm of figure 12 of the Kokkos Array paper, column by column
// and with four columns at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// Q (n x count) becomes orthonormal, R (count x count) holds its coefficients; column after column, without
/// gaps.
template <class T>
struct GramSchmidtColumns {
  T *q, *r;
  std::ptrdiff_t n;
  int count;
};

/// One launch after the other, or all of them as one CUDA graph. For T = float and double.
template <class T>
Sweep gram_schmidt_by_hand(CudaPlace place, GramSchmidtColumns<T> columns, bool as_graph);

}  // namespace perf
