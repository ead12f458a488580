// The inner loops of host copies: planes of short runs, and transposed tiles.
//
// Private to the copy executor. Kernels are plain functions of addresses and strides, chosen once for each
// piece by the length of its run, independent of plans and threads. The two sides must not overlap.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

// One cache line: from here on the order of the loops matters little.
inline constexpr index_t short_run = 64;
// Half of a small first-level cache.
inline constexpr index_t stage_bytes = index_t{1} << 14;
// The most lines that are walked side by side without a stage.
inline constexpr index_t few_streams = 8;

// The side of a square tile of runs: lines of at least 64 bytes on both sides, and room for it in the stage.
constexpr index_t tile_side(index_t run_bytes) {
  return run_bytes == 1 ? 128 : run_bytes <= 4 ? 64 : run_bytes <= 16 ? 32 : 16;
}

static_assert([] {
  for (index_t run = 1; run <= short_run; ++run)
    if (tile_side(run) * tile_side(run) * run > stage_bytes) return false;
  return true;
}());

// One loop of a kernel, strides in bytes.
struct Loop {
  index_t extent = 1;
  index_t dst = 0;
  index_t src = 0;
};

// The loops of a kernel: two, over runs.
struct Plane {
  Loop outer;
  Loop inner;
  index_t run_bytes;
};

using Kernel = void (*)(char* dst, const char* src, const Plane& plane);

// Bytes is the length of the run, or 0 for one known at run time only. memcpy of a known length is one load
// and one store of any type and alignment.
template <int Bytes>
void move_run(char* dst, const char* src, index_t run_bytes) {
  std::memcpy(dst, src, static_cast<std::size_t>(Bytes != 0 ? Bytes : run_bytes));
}

template <int Bytes, class DstStride, class SrcStride>
void copy_rows(char* __restrict dst, const char* __restrict src, const Plane& p, DstStride dst_stride,
               SrcStride src_stride) {
  const index_t rows = p.outer.extent, columns = p.inner.extent, run = p.run_bytes;
  const index_t dst_pitch = p.outer.dst, src_pitch = p.outer.src;
  for (index_t j = 0; j < rows; ++j) {
    char* __restrict d = dst + j * dst_pitch;
    const char* __restrict s = src + j * src_pitch;
    for (index_t i = 0; i < columns; ++i) move_run<Bytes>(d + i * dst_stride, s + i * src_stride, run);
  }
}

// Passes unit strides as constants, so that the compiler vectorises one side of the loop.
template <int Bytes>
void copy_plane(char* dst, const char* src, const Plane& p) {
  constexpr std::integral_constant<index_t, Bytes> unit;
  constexpr std::integral_constant<index_t, 0> none;
  const bool packs = Bytes != 0 && p.inner.dst == Bytes;
  if (packs && p.inner.src == 0) return copy_rows<Bytes>(dst, src, p, unit, none);
  if (packs) return copy_rows<Bytes>(dst, src, p, unit, p.inner.src);
  if (p.inner.src == 0) return copy_rows<Bytes>(dst, src, p, p.inner.dst, none);
  if (Bytes != 0 && p.inner.src == Bytes) return copy_rows<Bytes>(dst, src, p, p.inner.dst, unit);
  copy_rows<Bytes>(dst, src, p, p.inner.dst, p.inner.src);
}

// A square of elements in registers: 16 / Bytes vectors of as many lanes, through the vector extensions of
// GCC and Clang.
template <int Bytes>
struct Square {
  using Lane =
      std::conditional_t<Bytes == 1, std::uint8_t,
                         std::conditional_t<Bytes == 2, std::uint16_t,
                                            std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;
  typedef Lane Vector __attribute__((vector_size(16)));
  static constexpr int side = 16 / Bytes;

  // Lanes of a and b by turns, from their lower or upper halves.
  template <int From, int... I>
  static Vector interleave(Vector a, Vector b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (From + I / 2 + I % 2 * side)...);
  }

  // Interleaving rows i and i + side / 2 rotates the bits of (row, lane) by one place; after log2(side) times
  // row and lane are exchanged.
  template <int Step, int... Half, class Lanes>
  static void interleave_all(Vector (&rows)[side], std::integer_sequence<int, Half...> halves, Lanes lanes) {
    if constexpr (Step < side) {
      Vector next[side];
      ((next[2 * Half] = interleave<0>(rows[Half], rows[Half + side / 2], lanes),
        next[2 * Half + 1] = interleave<side / 2>(rows[Half], rows[Half + side / 2], lanes)),
       ...);
      interleave_all<2 * Step>(next, halves, lanes);
      std::memcpy(rows, next, sizeof next);
    }
  }

  // Folds over the rows, because compilers keep only unrolled rows in registers.
  template <int... Row>
  static void transpose(char* dst, index_t dst_pitch, const char* src, index_t src_pitch,
                        std::integer_sequence<int, Row...> lanes) {
    Vector rows[side];
    (std::memcpy(&rows[Row], src + Row * src_pitch, sizeof(Vector)), ...);
    interleave_all<1>(rows, std::make_integer_sequence<int, side / 2>(), lanes);
    (std::memcpy(dst + Row * dst_pitch, &rows[Row], sizeof(Vector)), ...);
  }
};

// Writes the transpose of `lines` lines, `pitch` bytes apart, of `length` elements each: element (i, j) to
// dst + j * dst_pitch + i * Bytes. Whole squares go through registers, the margins element by element.
template <int Bytes>
void scatter_transposed(char* __restrict dst, index_t dst_pitch, const char* __restrict stage, index_t pitch,
                        index_t lines, index_t length) {
  using S = Square<Bytes>;
  const index_t whole_lines = lines & -S::side, whole_length = length & -S::side;
  constexpr std::make_integer_sequence<int, S::side> rows;
  for (index_t j = 0; j < whole_length; j += S::side)
    for (index_t i = 0; i < whole_lines; i += S::side)
      S::transpose(dst + j * dst_pitch + i * Bytes, dst_pitch, stage + i * pitch + j * Bytes, pitch, rows);
  for (index_t j = 0; j < length; ++j)
    for (index_t i = j < whole_length ? whole_lines : 0; i < lines; ++i)
      std::memcpy(dst + j * dst_pitch + i * Bytes, stage + i * pitch + j * Bytes, Bytes);
}

// Copies a tile, `outer` being the loop along the source's lines and `inner` along the destination's. Written
// directly, one side would touch a new line, and often a new page and the same cache set, with every element;
// so the tile is gathered along the source's lines into a stage, and scattered from there along the
// destination's.
template <int Bytes>
void transpose_tile(char* __restrict dst, const char* __restrict src, const Plane& p) {
  // Aligned to no more than what the stack of AddressSanitizer has (cache_lines.cpp).
  alignas(32) char stage[stage_bytes];
  const index_t run = Bytes != 0 ? Bytes : p.run_bytes;
  const index_t lines = p.inner.extent, length = p.outer.extent;
  const index_t pitch = length * run;
  if (p.outer.src == run) {
    for (index_t i = 0; i < lines; ++i)
      std::memcpy(stage + i * pitch, src + i * p.inner.src, static_cast<std::size_t>(pitch));
  } else {
    copy_plane<Bytes>(stage, src, {{lines, pitch, p.inner.src}, {length, run, p.outer.src}, run});
  }
  if constexpr (Bytes == 1 || Bytes == 2 || Bytes == 4 || Bytes == 8) {
    if (p.inner.dst == Bytes) return scatter_transposed<Bytes>(dst, p.outer.dst, stage, pitch, lines, length);
  }
  copy_plane<Bytes>(dst, stage, {{length, p.outer.dst, run}, {lines, p.inner.dst, pitch}, run});
}

// A tile whose lines are contiguous on both sides, without a stage.
template <int Bytes>
void transpose_squares(char* dst, const char* src, const Plane& p) {
  scatter_transposed<Bytes>(dst, p.outer.dst, src, p.inner.src, p.inner.extent, p.outer.extent);
}

struct Kernels {
  Kernel plane;
  Kernel tile;
  Kernel squares;  // null: there is none for this length
};

template <int Bytes>
constexpr Kernel squares_of() {
  if constexpr (Bytes == 1 || Bytes == 2 || Bytes == 4) return transpose_squares<Bytes>;
  else return nullptr;
}
template <int Bytes>
inline constexpr Kernels kernels{copy_plane<Bytes>, transpose_tile<Bytes>, squares_of<Bytes>()};

inline Kernels kernels_for(index_t run_bytes) {
  switch (run_bytes) {
    case 1:
      return kernels<1>;
    case 2:
      return kernels<2>;
    case 3:
      return kernels<3>;
    case 4:
      return kernels<4>;
    case 6:
      return kernels<6>;
    case 8:
      return kernels<8>;
    case 12:
      return kernels<12>;
    case 16:
      return kernels<16>;
    case 24:
      return kernels<24>;
    case 32:
      return kernels<32>;
    default:
      return kernels<0>;
  }
}

}  // namespace strata::inline STRATA_ABI::detail
