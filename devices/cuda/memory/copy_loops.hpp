// The loops of kernels that copy, fill and convert: the place of an item in a nest of loops. Private to this
// folder's kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <strata/core/copy_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

// Quotient and remainder of 32-bit numbers by multiplication: n / d = (n * magic) >> (32 + shift), for
// n < 2^31 (Granlund and Montgomery, 1994).
struct Divisor {
  unsigned value = 1;
  unsigned magic = 0;
  int shift = 0;

  Divisor() = default;
  explicit Divisor(unsigned d) : value(d) {
    if (d == 1) return;
    while ((1u << shift) < d) ++shift;
    const std::uint64_t power = std::uint64_t{1} << (31 + shift);
    magic = static_cast<unsigned>((power + d - 1) / d);
    --shift;
  }
  __device__ void divide(unsigned n, unsigned& quotient, unsigned& remainder) const {
    quotient = value == 1 ? n : __umulhi(n, magic) >> shift;
    remainder = n - quotient * value;
  }
};

// Innermost loop first. Strides in bytes.
struct Loops {
  static constexpr int most_loops = max_piece_rank + 1;
  int count = 0;
  index_t items = 1;  // of all loops
  index_t extent[most_loops];
  index_t dst[most_loops];
  index_t src[most_loops];
  Divisor divisor[most_loops];

  void add(index_t n, index_t dst_stride, index_t src_stride) {
    extent[count] = n;
    dst[count] = dst_stride;
    src[count] = src_stride;
    items *= n;
    if (n < (index_t{1} << 31)) divisor[count] = Divisor(static_cast<unsigned>(n));
    ++count;
  }
  // The offsets of item `k`, from loop `first` on.
  template <class Index>
  __device__ void place(Index k, int first, index_t& to, index_t& from) const {
    for (int l = first; l < count; ++l) {
      index_t at;
      if constexpr (sizeof(Index) == 4) {
        unsigned quotient, remainder;
        divisor[l].divide(k, quotient, remainder);
        at = remainder;
        k = quotient;
      } else {
        at = k % extent[l];
        k /= extent[l];
      }
      to += at * dst[l];
      from += at * src[l];
    }
  }
};

/// Blocks of threads for `items`, of which a block does `each` at a time.
inline unsigned blocks_for(index_t items, index_t each) {
  constexpr index_t most_blocks = index_t{1} << 20;
  return static_cast<unsigned>(std::min((items + each - 1) / each, most_blocks));
}

}  // namespace strata::inline STRATA_ABI::detail
