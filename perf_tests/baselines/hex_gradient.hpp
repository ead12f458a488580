// Competitors of hex_gradient on GPUs: the formula of common/hex_formula.hpp over the same layouts. Those of
// hosts are in common/plain_loops.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// Coordinates and gradients (n, 3, 8): the first index fastest (`tile` = 0), or in tiles of 32 elements,
/// each value of the 32 side by side.
template <class T>
struct HexElements {
  const T* coordinates;
  T* gradients;
  std::ptrdiff_t n;
  int tile;
};

/// For T = float and double.
template <class T>
Sweep hex_gradient_by_hand(CudaPlace place, HexElements<T> elements);

}  // namespace perf
