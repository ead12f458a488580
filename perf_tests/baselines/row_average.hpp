// Competitors of row_average: y(i, j) is the mean of x(i, j, *).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"

namespace perf {

/// x has n * n1 * n2 values, y n * n1: on hosts with the last index fastest, on GPUs the first.
template <class T>
struct RowAverageArrays {
  const T* x;
  T* y;
  std::ptrdiff_t n;
  int n1, n2;
};

/// For T = float and double. On GPUs a thread does all rows of an item.
template <class T>
Sweep row_average_by_hand(HostPlace place, RowAverageArrays<T> arrays);
template <class T>
Sweep row_average_by_hand(CudaPlace place, RowAverageArrays<T> arrays);
/// On GPUs a thread does one average; on hosts the same as above.
template <class T>
Sweep one_average_by_hand(HostPlace place, RowAverageArrays<T> arrays);
template <class T>
Sweep one_average_by_hand(CudaPlace place, RowAverageArrays<T> arrays);

}  // namespace perf
