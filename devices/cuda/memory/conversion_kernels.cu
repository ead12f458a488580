// Each kernel is compiled for one kind of source and chooses the kind of destination itself, the same for all
// threads: 13 kernels of two forms instead of 169. In runs a thread converts four numbers, as many as a copy
// has in flight: as many of them at once as the larger kind has in 16 bytes, so that neighbouring threads
// store whole sectors (one store of two halves 16 bytes apart took 5 % longer from float to double);
// elsewhere one.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <type_traits>
#include <utility>

#include <strata/core/half.hpp>
#include <strata/devices/cuda/memory/conversion_kernels.hpp>
#include <strata/devices/cuda/memory/copy_loops.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr unsigned threads_of_block = 256;
constexpr int group = 4;

template <class T, int Count>
struct alignas(sizeof(T) * Count) Numbers {
  T number[Count];
};

// f(T()) of the type of a kind.
template <class F>
STRATA_FUNCTION void with_number(NumberKind kind, const F& f) {
  switch (kind) {
    case NumberKind::Bool:
      return f(bool());
    case NumberKind::Int8:
      return f(std::int8_t());
    case NumberKind::UInt8:
      return f(std::uint8_t());
    case NumberKind::Int16:
      return f(std::int16_t());
    case NumberKind::UInt16:
      return f(std::uint16_t());
    case NumberKind::Int32:
      return f(std::int32_t());
    case NumberKind::UInt32:
      return f(std::uint32_t());
    case NumberKind::Int64:
      return f(std::int64_t());
    case NumberKind::UInt64:
      return f(std::uint64_t());
    case NumberKind::Float:
      return f(float());
    case NumberKind::Double:
      return f(double());
    case NumberKind::Half:
      return f(half_t());
    case NumberKind::Brain:
      return f(bfloat16_t());
    case NumberKind::None:
      return;
  }
}

// `numbers`: a multiple of `group`.
template <class From>
__global__ void __launch_bounds__(threads_of_block)
    convert_groups(char* dst, const char* src, NumberKind to, index_t numbers) {
  constexpr index_t of_block = index_t{threads_of_block} * group;
  with_number(to, [&]<class To>(To) {
    constexpr int larger = static_cast<int>(sizeof(To) > sizeof(From) ? sizeof(To) : sizeof(From));
    constexpr int width = larger * group > 16 ? 16 / larger : group, times = group / width;
    for (index_t base = blockIdx.x * of_block; base < numbers; base += gridDim.x * of_block) {
      Numbers<From, width> in[times];
      const index_t first = base + index_t{threadIdx.x} * width;
#pragma unroll
      for (int t = 0; t < times; ++t) {
        const index_t at = first + t * index_t{threads_of_block} * width;
        if (at < numbers)
          in[t] = *reinterpret_cast<const Numbers<From, width>*>(reinterpret_cast<const From*>(src) + at);
      }
#pragma unroll
      for (int t = 0; t < times; ++t) {
        const index_t at = first + t * index_t{threads_of_block} * width;
        Numbers<To, width> out;
#pragma unroll
        for (int q = 0; q < width; ++q) out.number[q] = static_cast<To>(in[t].number[q]);
        if (at < numbers) *reinterpret_cast<Numbers<To, width>*>(reinterpret_cast<To*>(dst) + at) = out;
      }
    }
  });
}

// Strides of the loops are in numbers. The kind is chosen for each number: a branch that all threads take
// alike beside the divisions of `place`, which would otherwise be compiled once for each pair of kinds.
template <class From>
__global__ void convert_strided(char* dst, const char* src, NumberKind to,
                                const __grid_constant__ Loops loops) {
  const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
  const bool is_short = loops.items < (index_t{1} << 31);
  for (index_t k = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < loops.items; k += step) {
    index_t out = 0, in = 0;
    if (is_short) loops.place<unsigned>(static_cast<unsigned>(k), 0, out, in);
    else loops.place<index_t>(k, 0, out, in);
    const From number = reinterpret_cast<const From*>(src)[in];
    with_number(to, [&]<class To>(To) { reinterpret_cast<To*>(dst)[out] = static_cast<To>(number); });
  }
}

// Whether `data` is aligned as groups of numbers of `bytes` are.
bool is_aligned(const char* data, index_t bytes) {
  const index_t needed = bytes * group > 16 ? 16 : bytes * group;
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(needed) == 0;
}

}  // namespace

cudaError_t enqueue_conversion(cudaStream_t stream, void* destination, const void* source,
                               const CopyPiece& piece, Conversion how) {
  const index_t to_bytes = bytes_of(how.to), from_bytes = bytes_of(how.from);
  char* const dst = static_cast<char*>(destination) + piece.dst_offset * to_bytes;
  const char* const src = static_cast<const char*>(source) + piece.src_offset * from_bytes;
  const bool in_groups = piece.rank == 0 && is_aligned(dst, to_bytes) && is_aligned(src, from_bytes);
  const index_t groups = in_groups ? piece.run_bytes / group : 0;
  const index_t done = groups * group;  // of a run; what is left of it are fewer than a group
  Loops loops;
  if (piece.rank == 0) {
    // A loop of no items has no divisor.
    if (piece.run_bytes > done) loops.add(piece.run_bytes - done, 1, 1);
    else loops.items = 0;
  } else {
    if (piece.run_bytes > 1) loops.add(piece.run_bytes, 1, 1);
    for (int r = piece.rank - 1; r >= 0; --r)
      loops.add(piece.extent[r], piece.dst_stride[r], piece.src_stride[r]);
  }
  with_number(how.from, [&]<class From>(From) {
    if (groups > 0)
      convert_groups<From>
          <<<blocks_for(groups, threads_of_block), threads_of_block, 0, stream>>>(dst, src, how.to, done);
    if (loops.items > 0)
      convert_strided<From><<<blocks_for(loops.items, threads_of_block), threads_of_block, 0, stream>>>(
          dst + done * to_bytes, src + done * from_bytes, how.to, loops);
  });
  return cudaGetLastError();
}

}  // namespace strata::inline STRATA_ABI::detail
