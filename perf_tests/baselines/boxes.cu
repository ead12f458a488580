// SPDX-License-Identifier: Apache-2.0
#include "baselines/boxes.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

// What a thread computes, from the first of its points: `of(here, row, step, walked)` is the value after so
// many steps from there. The last two indices are those of a cube; a square is one of its layers.
template <class Formula>
struct Stencil {
  static constexpr bool is_plane = false;
  static constexpr unsigned margin = box_margin;
  __device__ static long long first(long long x, long long y, long long z, long long row) {
    return (z * row + y) * row + x;
  }
  template <class T>
  __device__ static T of(const T* here, long long row, long long step, int walked) {
    return Formula::template of<T>(
        [&](int i, int j, int k) { return here[i + j * row + (walked + k) * step]; });
  }
};
struct Transposition {
  static constexpr bool is_plane = false;
  static constexpr unsigned margin = box_margin;
  __device__ static long long first(long long x, long long y, long long z, long long row) {
    return (z * row + x) * row + y;
  }
  template <class T>
  __device__ static T of(const T* here, long long, long long step, int walked) {
    return here[walked * step];
  }
};
struct PlanePoints {
  static constexpr bool is_plane = true;
  static constexpr unsigned margin = 1;
  __device__ static long long first(long long x, long long, long long z, long long row) {
    return z * row + x;
  }
  template <class T>
  __device__ static T of(const T* here, long long row, long long, int walked) {
    return five_points<T>([&](int i, int j) { return here[i + (walked + j) * row]; });
  }
};

// Threads from index 0 on, of which those outside return: warps begin where lines of memory do. Each walks
// over points along the slowest index; of what it reads for them the compiler loads each element once.
template <class Points, class T, int Walk>
__global__ void __launch_bounds__(1024)
    box_kernel(std::ptrdiff_t edge, const T* __restrict__ u, T* __restrict__ v) {
  constexpr unsigned margin = Points::margin;
  const unsigned end = static_cast<unsigned>(edge) - margin;
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned line = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned y = Points::is_plane ? 0 : margin + line;
  const unsigned z = margin + (Points::is_plane ? line : blockIdx.z) * Walk;
  if (x - margin >= end - margin || y >= end || z >= end) return;
  const long long row = edge, step = Points::is_plane ? row : row * row;
  const T* const here = u + Points::first(x, y, z, row);
  T* const there = v + (Points::is_plane ? z * row : (z * row + y) * row) + x;
  if (end - z >= Walk) {
#pragma unroll
    for (int w = 0; w < Walk; ++w) there[w * step] = Points::of(here, row, step, w);
  } else {
#pragma unroll 1
    for (unsigned w = 0; w < end - z; ++w) there[w * step] = Points::of(here + w * step, row, step, 0);
  }
}

// Square tiles through shared memory, whose rows are one element longer than a tile: reads and writes of a
// warp are both of whole lines, and in different banks.
template <class T>
__global__ void __launch_bounds__(256)
    transposition_kernel(std::ptrdiff_t edge, const T* __restrict__ u, T* __restrict__ v) {
  constexpr unsigned size = 32, lines = 8, margin = box_margin;
  __shared__ T tile[size][size + 1];
  const unsigned end = static_cast<unsigned>(edge) - margin, z = margin + blockIdx.z;
  const unsigned x = blockIdx.x * size, y = blockIdx.y * size;
  const long long row = edge;
  const auto is_inside = [&](unsigned i, unsigned j) {
    return i - margin < end - margin && j - margin < end - margin;
  };
#pragma unroll
  for (unsigned k = threadIdx.y; k < size; k += lines)
    if (is_inside(x + k, y + threadIdx.x))
      tile[k][threadIdx.x] = u[(z * row + x + k) * row + y + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (unsigned k = threadIdx.y; k < size; k += lines)
    if (is_inside(x + threadIdx.x, y + k))
      v[(z * row + y + k) * row + x + threadIdx.x] = tile[threadIdx.x][k];
}

unsigned cover(std::ptrdiff_t n, std::ptrdiff_t each) { return static_cast<unsigned>((n + each - 1) / each); }

template <class Points, int Walk, class T>
void add(Sweep& sweep, CudaPlace place, BoxArrays<T> s) {
  for (const dim3 block : {dim3(32, 8), dim3(64, 4), dim3(64, 8), dim3(128, 2), dim3(128, 4), dim3(256, 1)}) {
    const std::ptrdiff_t inner = s.edge - 2 * std::ptrdiff_t{Points::margin}, walks = cover(inner, Walk);
    const dim3 grid(cover(s.edge - Points::margin, block.x), cover(Points::is_plane ? walks : inner, block.y),
                    Points::is_plane ? 1 : static_cast<unsigned>(walks));
    sweep.push_back({"blocks of " + std::to_string(block.x) + " x " + std::to_string(block.y) +
                         ", walks of " + std::to_string(Walk),
                     [=] {
                       box_kernel<Points, T, Walk><<<grid, block, 0, stream_of(place)>>>(s.edge, s.u, s.v);
                       cuda_finish(place);
                     }});
  }
}
template <class Points, class T>
Sweep sweep_of(CudaPlace place, BoxArrays<T> s) {
  Sweep sweep;
  add<Points, 1>(sweep, place, s);
  add<Points, 4>(sweep, place, s);
  add<Points, 8>(sweep, place, s);
  return sweep;
}

}  // namespace

template <class Formula, class T>
Sweep box_by_hand(CudaPlace place, BoxArrays<T> s) {
  return sweep_of<Stencil<Formula>>(place, s);
}
template <class T>
Sweep transposition_by_hand(CudaPlace place, BoxArrays<T> s) {
  Sweep sweep = sweep_of<Transposition>(place, s);
  const unsigned tiles = cover(s.edge - box_margin, 32);
  const dim3 grid(tiles, tiles, static_cast<unsigned>(s.edge - 2 * box_margin));
  sweep.push_back({"tiles in shared memory", [=] {
                     transposition_kernel<<<grid, dim3(32, 8), 0, stream_of(place)>>>(s.edge, s.u, s.v);
                     cuda_finish(place);
                   }});
  return sweep;
}
template <class T>
Sweep plane_by_hand(CudaPlace place, BoxArrays<T> s) {
  return sweep_of<PlanePoints>(place, s);
}

template Sweep box_by_hand<CopyPoint>(CudaPlace, BoxArrays<float>);
template Sweep box_by_hand<CopyPoint>(CudaPlace, BoxArrays<double>);
template Sweep box_by_hand<Points27>(CudaPlace, BoxArrays<float>);
template Sweep box_by_hand<Points27>(CudaPlace, BoxArrays<double>);
template Sweep box_by_hand<Points25>(CudaPlace, BoxArrays<float>);
template Sweep box_by_hand<Points25>(CudaPlace, BoxArrays<double>);
template Sweep transposition_by_hand(CudaPlace, BoxArrays<float>);
template Sweep transposition_by_hand(CudaPlace, BoxArrays<double>);
template Sweep plane_by_hand(CudaPlace, BoxArrays<float>);
template Sweep plane_by_hand(CudaPlace, BoxArrays<double>);

}  // namespace perf
