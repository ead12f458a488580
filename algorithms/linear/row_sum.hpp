// The order in which linear::spmv sums a row, for kernels that store rows otherwise and need the same bits.
//
//   struct Row { T product(index_t k) const; };              // a_ik x(column of k)
//   y(i) = linear::sum_of_row<T>(row, begin, end)            // as a thread of a host does
//   y(i) = linear::sum_of_row<T>(row, begin, end, group)     // as linear::spmv does on this device
//
// One thread a row: short rows from left to right; long ones in 8 partial sums, entry k adding to partial k %
// 8, which hosts put into vectors. The order depends on the row alone, so that host devices agree to the bit.
// On a GPU a group of row_group() threads, entry k adding to the sum of thread k % group.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// Rows from this length on are summed in partials.
inline constexpr index_t long_row = 64;
inline constexpr int row_partials = 8;
/// Entries that a thread of a group should have on the average, at most: rows of 27 entries are fastest with
/// 4 threads on an H200.
inline constexpr index_t entries_per_thread = 7;

// Not inlined into the loop over short rows, which makes that 8 to 30 % faster in cache (g++ 12).
template <class T, class Row>
[[gnu::noinline]] STRATA_FUNCTION T sum_of_long_row(const Row& row, index_t begin, index_t end) {
  T partial[row_partials];
  for (int l = 0; l < row_partials; ++l) partial[l] = T(0);
  index_t k = begin;
  for (; end - k >= row_partials; k += row_partials)
    for (int l = 0; l < row_partials; ++l) partial[l] += row.product(k + l);
  for (int l = 0; k < end; ++k, ++l) partial[l] += row.product(k);
  for (int half = row_partials / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) partial[l] += partial[l + half];
  return partial[0];
}

#if defined(__CUDA_ARCH__)
// One thread computes the sum of a group of `Group` threads.
template <int Group, class T, class Row>
STRATA_FUNCTION T sum_of_row_by_group(const Row& row, index_t begin, index_t end) {
  T partial[Group];
#pragma unroll
  for (int l = 0; l < Group; ++l) partial[l] = T(0);
  for (index_t k = begin; k < end; k += Group) {
#pragma unroll
    for (int l = 0; l < Group; ++l)
      if (k + l < end) partial[l] += row.product(k + l);
  }
#pragma unroll
  for (int half = Group / 2; half > 0; half /= 2) {
#pragma unroll
    for (int l = 0; l < half; ++l) partial[l] += partial[l + half];
  }
  return partial[0];
}
#endif

}  // namespace detail

namespace linear {

/// How many threads of a GPU linear::spmv gives to a row of a matrix: 1, 2, 4, ... 32.
inline int row_group(index_t rows, index_t entries) {
  int group = 1;
  while (group < 32 && static_cast<double>(entries) >
                           static_cast<double>(rows) * strata::detail::entries_per_thread * group)
    group *= 2;
  return group;
}

/// The sum of row.product(k), which is a T, over the entries [begin, end) of a row, by one thread.
template <class T, class Row>
STRATA_FUNCTION T sum_of_row(const Row& row, index_t begin, index_t end) {
  if (end - begin >= strata::detail::long_row) return strata::detail::sum_of_long_row<T>(row, begin, end);
  T sum = T(0);
// The loop of one entry has 31 bytes, and takes 15 to 25 % longer where it happens to be placed across some
// boundary of the code (g++ 12, an EPYC 9005). Of four entries it is as fast as the best placement of that,
// wherever it is.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 4
#endif
  for (index_t k = begin; k < end; ++k) sum += row.product(k);
  return sum;
}

/// The same with the bits that linear::spmv has on the device where this runs, `group` being the row_group()
/// of the matrix.
template <class T, class Row>
STRATA_FUNCTION T sum_of_row(const Row& row, index_t begin, index_t end, [[maybe_unused]] int group) {
#if defined(__CUDA_ARCH__)
  if (group == 2) return strata::detail::sum_of_row_by_group<2, T>(row, begin, end);
  if (group == 4) return strata::detail::sum_of_row_by_group<4, T>(row, begin, end);
  if (group == 8) return strata::detail::sum_of_row_by_group<8, T>(row, begin, end);
  if (group == 16) return strata::detail::sum_of_row_by_group<16, T>(row, begin, end);
  if (group == 32) return strata::detail::sum_of_row_by_group<32, T>(row, begin, end);
#endif
  return sum_of_row<T>(row, begin, end);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
