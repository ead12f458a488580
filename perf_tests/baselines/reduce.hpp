// Competitors of reduce: the sum of x, or of x y.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// Where the sum goes: into host memory, which the caller waits for; or its square root into memory of the
/// device, `calls` of them before anybody waits.
enum class ReduceInto { Host, Root };

template <class T>
struct ReduceArrays {
  const T* x;
  const T* y;  ///< null: the sum of x
  std::ptrdiff_t n;
  ReduceInto into;
  T* result;
  int calls = 1;
};

/// For T = float and double.
template <class T>
Sweep reduce_by_hand(HostPlace place, ReduceArrays<T> arrays);
template <class T>
Sweep reduce_by_hand(CudaPlace place, ReduceArrays<T> arrays);
/// oneTBB where the build has it and the team more than one thread; CUB.
template <class T>
Sweep reduce_by_library(HostPlace place, ReduceArrays<T> arrays);
template <class T>
Sweep reduce_by_library(CudaPlace place, ReduceArrays<T> arrays);

}  // namespace perf
