// Competitors of the kernels of the thermal mini-app (thermal_kernels): assembly of the matrix of a mesh, and
// what an iteration of conjugate gradients does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "common/competitor.hpp"

namespace perf {

/// The arrays of a mesh of hexahedra, of the matrix between its nodes and of the solver. What belongs to an
/// element lies with the element fastest (`tile` = 0) or in tiles of 8 elements, each value of the 8 side by
/// side.
template <class T>
struct ThermalArrays {
  std::ptrdiff_t elements, nodes, entries;
  int tile;
  const std::int32_t* element_nodes;  // (element, 8)
  const double* coordinates;          // (node, 3), the direction fastest
  const std::int32_t* blocks;         // (element)
  const T* materials;                 // (block, 3): conductivity, capacity, source
  const std::int32_t* offsets;        // (node): where its corners begin
  const std::int32_t* corners;        // 8 * element + corner, ascending
  const std::uint64_t* slots;         // (element, corner): the places of 8 columns in the row, a byte each
  const std::int64_t* row_map;
  const std::int32_t* columns;
  T* matrix;  // (element, 8, 8)
  T* vector;  // (element, 8)
  T* values;
  T* b;
  T *x = nullptr, *p = nullptr, *q = nullptr, *r = nullptr, *d = nullptr;  // of the solver
  T* scalars = nullptr;                                                    // alpha, beta; p.q; r.Dr, r.r
};

/// Places in `scalars`.
inline constexpr int alpha_scalar = 0, beta_scalar = 1, dot_scalar = 2, sums_scalar = 3, thermal_scalars = 5;

enum class ThermalKernel {
  Contributions,  ///< matrix and vector of each element
  Fill,           ///< values and b from those, elements ascending
  Scatter,        ///< values and b at once, by atomics; clears them first
  Fused,          ///< values and b, each node computing its elements
  Product,        ///< q = A p
  Dot,            ///< p.q
  Update,         ///< x += alpha p, r -= alpha q, with the sums of r.Dr and r.r
  Direction,      ///< p = D r + beta p
  Iteration,      ///< the last four, one after the other
};

/// The kernel `times` times one after the other, on GPUs as one graph. For T = float and double. Those from
/// Dot on, but for Iteration, need no mesh and no matrix.
template <class T>
Sweep thermal_by_hand(HostPlace place, ThermalKernel kernel, const ThermalArrays<T>& arrays, int times);
template <class T>
Sweep thermal_by_hand(CudaPlace place, ThermalKernel kernel, const ThermalArrays<T>& arrays, int times);

}  // namespace perf
