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
// The side of the smallest squares of elements of one byte or two: that of the tiles of hosts.
inline constexpr index_t narrow_side = 8;

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

// A square of elements in registers, of lines of 16 bytes or of 8, through the vector extensions of GCC and
// Clang.
template <int Bytes, int Side>
struct Square {
  using Lane =
      std::conditional_t<Bytes == 1, std::uint8_t,
                         std::conditional_t<Bytes == 2, std::uint16_t,
                                            std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;
  typedef Lane Vector __attribute__((vector_size(16)));
  typedef std::uint64_t Halves __attribute__((vector_size(16)));
  static constexpr int lanes = 16 / Bytes;
  static constexpr int lines = lanes / Side;  // of each vector
  static constexpr int vectors = Side / lines;
  static_assert(lines == 1 || lines == 2);

  static Vector load(const char* src, [[maybe_unused]] index_t pitch) {
    Vector v;
    if constexpr (lines == 1) {
      std::memcpy(&v, src, sizeof v);
    } else {
      std::uint64_t a, b;
      std::memcpy(&a, src, sizeof a);
      std::memcpy(&b, src + pitch, sizeof b);
      v = reinterpret_cast<Vector>(Halves{a, b});
    }
    return v;
  }
  static void store(char* dst, [[maybe_unused]] index_t pitch, Vector v) {
    if constexpr (lines == 1) {
      std::memcpy(dst, &v, sizeof v);
    } else {
      const Halves halves = reinterpret_cast<Halves>(v);
      const std::uint64_t a = halves[0], b = halves[1];
      std::memcpy(dst, &a, sizeof a);
      std::memcpy(dst + pitch, &b, sizeof b);
    }
  }

  // Lanes of a and b by turns, from their lower or upper halves.
  template <int From, int... I>
  static Vector interleave(Vector a, Vector b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, (From + I / 2 + I % 2 * lanes)...);
  }

  // Interleaving vectors i and i + vectors / 2 rotates the bits of (line, lane) by one place; after
  // log2(Side) times line and lane are exchanged. Packs, because compilers keep only unrolled vectors in
  // registers; and no array is copied as a whole, which g++ 12 does by moves of 64 bytes (cache_lines.cpp).
  template <int Step, int... I>
  static void interleave_and_store(char* dst, index_t pitch, const Vector (&v)[vectors],
                                   std::integer_sequence<int, I...> all) {
    if constexpr (Step < Side) {
      const Vector next[vectors] = {interleave<I % 2 * (lanes / 2)>(
          v[I / 2], v[I / 2 + vectors / 2], std::make_integer_sequence<int, lanes>())...};
      interleave_and_store<2 * Step>(dst, pitch, next, all);
    } else {
      (store(dst + I * lines * pitch, pitch, v[I]), ...);
    }
  }

  template <int... I>
  static void transpose(char* dst, index_t dst_pitch, const char* src, index_t src_pitch,
                        std::integer_sequence<int, I...> all) {
    const Vector v[vectors] = {load(src + I * lines * src_pitch, src_pitch)...};
    interleave_and_store<1>(dst, dst_pitch, v, all);
  }
};

// Writes the transpose of `lines` lines, `pitch` bytes apart, of `length` elements each: element (i, j) to
// dst + j * dst_pitch + i * Bytes. Whole squares go through registers, the margins element by element.
template <int Bytes, int Side = 16 / Bytes>
void scatter_transposed(char* __restrict dst, index_t dst_pitch, const char* __restrict stage, index_t pitch,
                        index_t lines, index_t length) {
  using S = Square<Bytes, Side>;
  const index_t whole_lines = lines & -Side, whole_length = length & -Side;
  constexpr std::make_integer_sequence<int, S::vectors> vectors;
  for (index_t j = 0; j < whole_length; j += Side)
    for (index_t i = 0; i < whole_lines; i += Side)
      S::transpose(dst + j * dst_pitch + i * Bytes, dst_pitch, stage + i * pitch + j * Bytes, pitch, vectors);
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
  constexpr int side = 16 / Bytes;
  if constexpr (Bytes == 1) {
    if (p.inner.extent < side || p.outer.extent < side)
      return scatter_transposed<Bytes, side / 2>(dst, p.outer.dst, src, p.inner.src, p.inner.extent,
                                                 p.outer.extent);
  }
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
