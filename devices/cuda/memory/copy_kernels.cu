// Every piece becomes a nest of loops over units of 1 to 16 bytes, the largest that all lengths and addresses
// allow. Threads are numbered along the destination's innermost loop, so that writes are coalesced; where the
// source's smallest stride belongs to another loop, tiles of 32 x 32 units are turned in shared memory.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <strata/devices/cuda/memory/copy_kernels.hpp>
#include <strata/devices/cuda/memory/copy_loops.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr int tile = 32;
constexpr int tile_rows = 4;
constexpr unsigned threads = 256;
constexpr unsigned line_threads = 512;                 // of a block of fill_line
constexpr index_t most_line_bytes = index_t{1} << 42;  // 2^29 blocks; there can be 2^31

template <class Unit, class Index>
__global__ void copy_strided(char* dst, const char* src, const __grid_constant__ Loops loops) {
  const Index step = static_cast<Index>(gridDim.x) * blockDim.x;
  const auto items = static_cast<Index>(loops.items);
  for (Index k = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x; k < items; k += step) {
    index_t to = 0, from = 0;
    loops.place<Index>(k, 0, to, from);
    *reinterpret_cast<Unit*>(dst + to) = *reinterpret_cast<const Unit*>(src + from);
    if (items - k <= step) break;
  }
}

// Loop 0 is the destination's innermost, loop 1 the source's. A block turns one tile at a time; of a whole
// one all units of a thread are in flight together.
template <class Unit>
__global__ void __launch_bounds__(tile* tile_rows)
    copy_transposed(char* dst, const char* src, const __grid_constant__ Loops loops) {
  constexpr int each = tile / tile_rows;
  __shared__ Unit turned[tile][tile + 1];
  const int lane = static_cast<int>(threadIdx.x), row = static_cast<int>(threadIdx.y);
  const index_t tiles0 = (loops.extent[0] + tile - 1) / tile, tiles1 = (loops.extent[1] + tile - 1) / tile;
  const index_t tiles = tiles0 * tiles1 * (loops.items / (loops.extent[0] * loops.extent[1]));
  const index_t src_step = tile_rows * loops.src[0], dst_step = tile_rows * loops.dst[1];
  for (index_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    index_t to = 0, from = 0;
    if (loops.count > 2) loops.place<index_t>(t / (tiles0 * tiles1), 2, to, from);
    const index_t first0 = t % tiles0 * tile, first1 = t / tiles0 % tiles1 * tile;
    const index_t left0 = loops.extent[0] - first0, left1 = loops.extent[1] - first1;
    const char* const in = src + from + (first0 + row) * loops.src[0] + (first1 + lane) * loops.src[1];
    char* const out = dst + to + (first0 + lane) * loops.dst[0] + (first1 + row) * loops.dst[1];
    if (left0 >= tile && left1 >= tile) {
      Unit units[each];
#pragma unroll
      for (int k = 0; k < each; ++k) units[k] = *reinterpret_cast<const Unit*>(in + k * src_step);
#pragma unroll
      for (int k = 0; k < each; ++k) turned[row + k * tile_rows][lane] = units[k];
      __syncthreads();
#pragma unroll
      for (int k = 0; k < each; ++k)
        *reinterpret_cast<Unit*>(out + k * dst_step) = turned[lane][row + k * tile_rows];
    } else {
      for (int k = 0; k < each; ++k)
        if (row + k * tile_rows < left0 && lane < left1)
          turned[row + k * tile_rows][lane] = *reinterpret_cast<const Unit*>(in + k * src_step);
      __syncthreads();
      for (int k = 0; k < each; ++k)
        if (lane < left0 && row + k * tile_rows < left1)
          *reinterpret_cast<Unit*>(out + k * dst_step) = turned[lane][row + k * tile_rows];
    }
    __syncthreads();
  }
}

struct Unit16 {
  alignas(16) std::uint64_t words[2];
};

struct FillValue {
  alignas(16) char bytes[most_fill_bytes];
};
struct FillUnit {
  alignas(16) char bytes[16];
};
// Units of a pattern of `period` units, which repeats along the innermost loop.
template <class Unit>
__global__ void fill_strided(char* dst, const __grid_constant__ Loops loops,
                             const __grid_constant__ FillValue value, const char* large_value,
                             unsigned period) {
  const auto* const pattern =
      reinterpret_cast<const Unit*>(large_value != nullptr ? large_value : value.bytes);
  const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
  for (index_t k = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < loops.items; k += step) {
    index_t to = 0, from = 0;
    loops.place<index_t>(k, 0, to, from);
    *reinterpret_cast<Unit*>(dst + to) = pattern[period == 1 ? 0 : k % loops.extent[0] % period];
  }
}

// The bytes [begin, end) of a line of 16-byte units from `line` on, all alike, one a thread.
__global__ void __launch_bounds__(line_threads)
    fill_line(char* line, char* begin, char* end, const __grid_constant__ FillUnit value) {
  char* const unit = line + 16 * (blockIdx.x * index_t{line_threads} + threadIdx.x);
  if (unit >= begin && end - unit >= 16) {
    *reinterpret_cast<Unit16*>(unit) = *reinterpret_cast<const Unit16*>(value.bytes);
  } else {
    for (int b = 0; b < 16; ++b)
      if (unit + b >= begin && unit + b < end) unit[b] = value.bytes[b];
  }
}

// The largest unit that divides all of these.
unsigned unit_of(std::uintptr_t combined) {
  unsigned unit = 16;
  while (unit > 1 && combined % unit != 0) unit /= 2;
  return unit;
}

template <class F>
void with_unit(unsigned unit, const F& f) {
  switch (unit) {
    case 16:
      return f(Unit16{});
    case 8:
      return f(std::uint64_t{});
    case 4:
      return f(std::uint32_t{});
    case 2:
      return f(std::uint16_t{});
    default:
      return f(std::uint8_t{});
  }
}

Loops loops_of(const CopyPiece& piece, unsigned unit) {
  Loops loops;
  const auto u = static_cast<index_t>(unit);
  if (piece.run_bytes > u) loops.add(piece.run_bytes / u, u, u);
  for (int r = piece.rank - 1; r >= 0; --r)
    loops.add(piece.extent[r], piece.dst_stride[r], piece.src_stride[r]);
  if (loops.count == 0) loops.add(1, u, u);
  return loops;
}

// Of elements that repeat in 16 bytes.
cudaError_t enqueue_fill_line(cudaStream_t stream, char* begin, char* end, const char* value,
                              std::size_t element_bytes) {
  const std::size_t before = reinterpret_cast<std::uintptr_t>(begin) % 16;
  FillUnit unit;
  for (std::size_t b = 0; b < 16; ++b) unit.bytes[b] = value[(b + 16 - before) % element_bytes];
  char* const line = begin - before;
  constexpr index_t of_block = 16 * index_t{line_threads};
  const auto blocks = static_cast<unsigned>((end - line + of_block - 1) / of_block);
  fill_line<<<blocks, line_threads, 0, stream>>>(line, begin, end, unit);
  return cudaGetLastError();
}

}  // namespace

cudaError_t enqueue_copy(cudaStream_t stream, void* destination, const void* source, const CopyPiece& piece) {
  char* const dst = static_cast<char*>(destination) + piece.dst_offset;
  const char* const src = static_cast<const char*>(source) + piece.src_offset;
  std::uintptr_t combined = reinterpret_cast<std::uintptr_t>(dst) | reinterpret_cast<std::uintptr_t>(src) |
                            static_cast<std::uintptr_t>(piece.run_bytes);
  for (int r = 0; r < piece.rank; ++r)
    combined |=
        static_cast<std::uintptr_t>(piece.dst_stride[r]) | static_cast<std::uintptr_t>(piece.src_stride[r]);
  const unsigned unit = unit_of(combined);
  Loops loops = loops_of(piece, unit);

  int nearest = 0;  // the loop of the source's smallest stride
  const auto distance = [&](int l) { return loops.src[l] < 0 ? -loops.src[l] : loops.src[l]; };
  for (int l = 1; l < loops.count; ++l)
    if (distance(l) < distance(nearest)) nearest = l;
  const bool turn =
      nearest != 0 && distance(nearest) > 0 && loops.extent[0] >= 8 && loops.extent[nearest] >= 8;
  if (turn) {
    std::swap(loops.extent[1], loops.extent[nearest]);
    std::swap(loops.dst[1], loops.dst[nearest]);
    std::swap(loops.src[1], loops.src[nearest]);
    std::swap(loops.divisor[1], loops.divisor[nearest]);
  }
  with_unit(unit, [&]<class Unit>(Unit) {
    if (turn) {
      const index_t tiles = ((loops.extent[0] + tile - 1) / tile) * ((loops.extent[1] + tile - 1) / tile) *
                            (loops.items / (loops.extent[0] * loops.extent[1]));
      copy_transposed<Unit><<<blocks_for(tiles, 1), dim3(tile, tile_rows), 0, stream>>>(dst, src, loops);
    } else if (loops.items < (index_t{1} << 31)) {
      copy_strided<Unit, unsigned><<<blocks_for(loops.items, threads), threads, 0, stream>>>(dst, src, loops);
    } else {
      copy_strided<Unit, index_t><<<blocks_for(loops.items, threads), threads, 0, stream>>>(dst, src, loops);
    }
  });
  return cudaGetLastError();
}

cudaError_t enqueue_fill(cudaStream_t stream, void* destination, const CopyPiece& piece, const void* value,
                         std::size_t element_bytes) {
  char* const dst = static_cast<char*>(destination) + piece.dst_offset;
  if (piece.kind == CopyKind::Contiguous && 16 % element_bytes == 0 && piece.run_bytes <= most_line_bytes)
    return enqueue_fill_line(stream, dst, dst + piece.run_bytes, static_cast<const char*>(value),
                             element_bytes);
  std::uintptr_t combined =
      reinterpret_cast<std::uintptr_t>(dst) | static_cast<std::uintptr_t>(piece.run_bytes);
  for (int r = 0; r < piece.rank; ++r) combined |= static_cast<std::uintptr_t>(piece.dst_stride[r]);
  FillValue pattern{};
  const bool small = element_bytes <= most_fill_bytes;
  std::size_t period = element_bytes;
  if (small) {
    std::memcpy(pattern.bytes, value, element_bytes);
    // Short elements repeat up to a whole unit.
    while (period < 16 && 16 % period == 0) {
      std::memcpy(pattern.bytes + period, pattern.bytes, period);
      period *= 2;
    }
  }
  const unsigned unit = unit_of(combined | period);
  const Loops loops = loops_of(piece, unit);
  with_unit(unit, [&]<class Unit>(Unit) {
    fill_strided<Unit><<<blocks_for(loops.items, threads), threads, 0, stream>>>(
        dst, loops, pattern, small ? nullptr : static_cast<const char*>(value),
        static_cast<unsigned>(period / unit));
  });
  return cudaGetLastError();
}

}  // namespace strata::inline STRATA_ABI::detail
