// Competitors of stencil7.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// v = a u + b (the six neighbours of u) in the interior of a cube of `edge` points, fastest index first or
/// last alike.
template <class T>
struct StencilArrays {
  const T* u;
  T* v;
  std::ptrdiff_t edge;
  T a, b;
};

/// For T = float and double.
template <class T>
Sweep stencil7_by_hand(HostPlace place, StencilArrays<T> arrays);
/// One point a thread, or walks over 4 or 8, in the best shape of block.
template <class T>
Sweep stencil7_by_hand(CudaPlace place, StencilArrays<T> arrays);
/// Each thread walks along the slowest index with three values in registers.
template <class T>
Sweep stencil7_marching(CudaPlace place, StencilArrays<T> arrays);

}  // namespace perf
