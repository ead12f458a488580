// Competitors of sort: oneTBB on hosts, CUB on GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// oneTBB's parallel_sort of [keys, keys + n), where the build has it. For T = float and double.
template <class T>
Sweep sort_by_library(T* keys, std::ptrdiff_t n);

/// What is sorted: keys by radix, keys by a functor, keys with their values by radix.
enum class SortKind { Keys, Functor, Pairs };
/// Each run copies `source` to `keys` and sorts these.
template <class T>
struct SortArrays {
  const T* source;
  T* keys;
  std::ptrdiff_t* values;
  std::ptrdiff_t n;
};
/// For T = float and double.
template <class T>
Sweep sort_by_cub(CudaPlace place, SortKind kind, SortArrays<T> arrays);
/// The copy alone, and the wait for it.
template <class T>
Competitor copy_for_cub(CudaPlace place, SortArrays<T> arrays);

}  // namespace perf
