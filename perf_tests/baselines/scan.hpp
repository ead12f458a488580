// Competitors of scan: y(i) = x(0) + ... + x(i).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

template <class T>
struct ScanArrays {
  const T* x;
  T* y;
  std::ptrdiff_t n;
};

/// For T = double, float and long (int64). Plain loops; on GPUs CUB is the baseline, and there is none by
/// hand.
template <class T>
Sweep scan_baseline(HostPlace place, ScanArrays<T> arrays);
template <class T>
Sweep scan_baseline(CudaPlace place, ScanArrays<T> arrays);
/// oneTBB, where the build has it and the team more than one thread.
template <class T>
Sweep scan_by_library(HostPlace place, ScanArrays<T> arrays);
template <class T>
Sweep scan_by_library(CudaPlace, ScanArrays<T>) {
  return {};
}

}  // namespace perf
