// Competitors of scatter_add: every element adds its value to its 8 nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "common/competitor.hpp"

namespace perf {

/// Node k of element e is node[e * 8 + k] on hosts, node[e + elements * k] on GPUs.
template <class T>
struct ScatterArrays {
  const std::int32_t* node;
  const T* value;  ///< one an element
  T* sum;          ///< one a node; what it held before does not matter
  std::ptrdiff_t elements, nodes;
  /// The elements of each node, for those who gather: element[first[v]] to element[first[v + 1] - 1], in
  /// memory of the device.
  const std::int32_t *first, *element;
};

/// For T = float and double. A sum of its own for each thread, joined (one thread: added at once).
template <class T>
Sweep scatter_duplicated(HostPlace place, ScatterArrays<T> arrays);
template <class T>
Sweep scatter_by_atomics(HostPlace place, ScatterArrays<T> arrays);
template <class T>
Sweep scatter_by_atomics(CudaPlace place, ScatterArrays<T> arrays);
/// Each node gathers from its elements, which somebody sorted before: not a scatter, and so the bound.
template <class T>
Sweep gather_by_node(HostPlace place, ScatterArrays<T> arrays);
template <class T>
Sweep gather_by_node(CudaPlace place, ScatterArrays<T> arrays);

}  // namespace perf
