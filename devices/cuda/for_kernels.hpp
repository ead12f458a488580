// Kernels of parallel_for: one thread an item.
#pragma once

#include <utility>

#include <strata/devices/cuda/block_check.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

template <class Body>
struct CudaFor {
  Body body;
  index_t begin;
  index_t count;
  CudaCheck check;

  /// The grid covers the range; 32-bit arithmetic up to the index itself.
  __device__ void run_exact() const {
    const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < static_cast<unsigned>(count)) body(begin + k);
  }
  /// Any range.
  __device__ void run_strided() const {
    const index_t step = static_cast<index_t>(gridDim.x) * blockDim.x;
    for (index_t k = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < count; k += step)
      body(begin + k);
  }
};

template <class Work>
__global__ void cuda_for_exact(const __grid_constant__ Work work) {
  if (enter_block(work.check)) work.run_exact();
}
template <class Work>
__global__ void cuda_for_strided(const __grid_constant__ Work work) {
  if (enter_block(work.check)) work.run_strided();
}
template <class Work>
__global__ void cuda_for_indirect(const Work* work) {
  if (enter_block(work->check)) work->run_strided();
}

/// A box, a tile of it a thread block. Axis 0 is the dimension along which neighbouring threads work: the
/// first one, or the last one with `LastFastest`, and so on. Three axes are those of block and grid; the
/// third carries what dimensions are left. Where the range is larger than a grid, threads go on by strides.
template <int Rank, bool LastFastest, class Body>
struct CudaBox {
  Body body;
  index_t lower[Rank];   // by dimension
  index_t extent[Rank];  // by axis
  CudaCheck check;

  __device__ void run() const {
    const index_t x = static_cast<index_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const index_t y = static_cast<index_t>(blockIdx.y) * blockDim.y + threadIdx.y;
    const index_t step_x = static_cast<index_t>(gridDim.x) * blockDim.x;
    const index_t step_y = static_cast<index_t>(gridDim.y) * blockDim.y;
    index_t at[Rank];
    const auto plane = [&] {
      for (at[1] = y; at[1] < extent[1]; at[1] += step_y)
        for (at[0] = x; at[0] < extent[0]; at[0] += step_x) call(at, std::make_index_sequence<Rank>());
    };
    if constexpr (Rank == 2) {
      plane();
    } else {
      const index_t z = static_cast<index_t>(blockIdx.z) * blockDim.z + threadIdx.z;
      const index_t step_z = static_cast<index_t>(gridDim.z) * blockDim.z;
      index_t count = extent[2];
      for (int a = 3; a < Rank; ++a) count *= extent[a];
      for (index_t k = z; k < count; k += step_z) {
        index_t left = k;
        for (int a = 2; a + 1 < Rank; ++a) {
          at[a] = left % extent[a];
          left /= extent[a];
        }
        at[Rank - 1] = left;
        plane();
      }
    }
  }

 private:
  template <std::size_t... D>
  __device__ void call(const index_t (&at)[Rank], std::index_sequence<D...>) const {
    body((lower[D] + at[LastFastest ? Rank - 1 - D : D])...);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
