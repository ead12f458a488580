// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "baselines/stencil7.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

template <class T>
__global__ void __launch_bounds__(1024) point_kernel(StencilArrays<T> s, const T* __restrict__ u) {
  const long long m = s.edge;
  const long long x = 1 + blockIdx.x * blockDim.x + threadIdx.x;
  const long long y = 1 + blockIdx.y * blockDim.y + threadIdx.y;
  const long long z = 1 + blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= m - 1 || y >= m - 1 || z >= m - 1) return;
  const long long p = (z * m + y) * m + x;
  s.v[p] = s.a * u[p] + s.b * (u[p - 1] + u[p + 1] + u[p - m] + u[p + m] + u[p - m * m] + u[p + m * m]);
}

// Blocks of two dimensions; `length` planes each.
template <class T>
__global__ void __launch_bounds__(1024)
    marching_kernel(StencilArrays<T> s, const T* __restrict__ u, int length) {
  const long long m = s.edge, plane = m * m;
  const long long x = 1 + blockIdx.x * blockDim.x + threadIdx.x;
  const long long y = 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= m - 1 || y >= m - 1) return;
  const long long begin = 1 + blockIdx.z * static_cast<long long>(length);
  const long long end = begin + length < m - 1 ? begin + length : m - 1;
  long long p = (begin * m + y) * m + x;
  T below = u[p - plane], here = u[p];
#pragma unroll 4
  for (long long z = begin; z < end; ++z, p += plane) {
    const T above = u[p + plane];
    s.v[p] = s.a * here + s.b * (u[p - 1] + u[p + 1] + u[p - m] + u[p + m] + below + above);
    below = here;
    here = above;
  }
}

// The same with threads from index 0 on, of which those outside return: warps begin where lines of memory do.
template <class T>
__global__ void __launch_bounds__(1024) point_lines_kernel(StencilArrays<T> s, const T* __restrict__ u) {
  const unsigned m = static_cast<unsigned>(s.edge);
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = 1 + blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = 1 + blockIdx.z * blockDim.z + threadIdx.z;
  if (x - 1 >= m - 2 || y >= m - 1 || z >= m - 1) return;
  const long long row = m, plane = row * m;
  const long long p = (z * row + y) * row + x;
  s.v[p] = s.a * u[p] + s.b * (u[p - 1] + u[p + 1] + u[p - row] + u[p + row] + u[p - plane] + u[p + plane]);
}

template <class T, int Unrolled>
__device__ void march(const StencilArrays<T>& s, const T* __restrict__ u, long long p, long long plane,
                      int count) {
  T below = u[p - plane], here = u[p];
  const long long m = s.edge;
#pragma unroll Unrolled
  for (int k = 0; k < count; ++k, p += plane) {
    const T above = u[p + plane];
    s.v[p] = s.a * here + s.b * (u[p - 1] + u[p + 1] + u[p - m] + u[p + m] + below + above);
    below = here;
    here = above;
  }
}
// Walks whose length the compiler knows, but for the last ones.
template <class T, int Length>
__global__ void __launch_bounds__(1024) marching_lines_kernel(StencilArrays<T> s, const T* __restrict__ u) {
  const unsigned m = static_cast<unsigned>(s.edge);
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (x - 1 >= m - 2 || y >= m - 1) return;
  const unsigned begin = 1 + blockIdx.z * Length, left = m - 1 - begin;
  const long long row = m, p = (begin * row + y) * row + x;
  if (left >= Length) march<T, 4>(s, u, p, row * row, Length);
  else march<T, 1>(s, u, p, row * row, static_cast<int>(left));
}

unsigned cover(std::ptrdiff_t n, unsigned each) { return static_cast<unsigned>((n + each - 1) / each); }

std::string shape(dim3 block) {
  return std::to_string(block.x) + " x " + std::to_string(block.y) + " x " + std::to_string(block.z);
}

}  // namespace

template <class T, int Length>
void add_marching_lines(Sweep& sweep, CudaPlace place, StencilArrays<T> s) {
  for (const dim3 block : {dim3(64, 4), dim3(64, 8), dim3(128, 4), dim3(128, 8)}) {
    const dim3 grid(cover(s.edge - 1, block.x), cover(s.edge - 2, block.y), cover(s.edge - 2, Length));
    sweep.push_back({"lines, blocks of " + shape(block) + ", " + std::to_string(Length) + " planes", [=] {
                       marching_lines_kernel<T, Length><<<grid, block, 0, stream_of(place)>>>(s, s.u);
                       cuda_finish(place);
                     }});
  }
}

template <class T>
Sweep stencil7_by_hand(CudaPlace place, StencilArrays<T> s) {
  Sweep sweep;
  const std::ptrdiff_t inner = s.edge - 2;
  for (const dim3 block : {dim3(32, 4, 2), dim3(32, 8, 1), dim3(32, 4, 4), dim3(64, 4, 1), dim3(64, 2, 2),
                           dim3(64, 4, 2), dim3(128, 1, 1), dim3(128, 2, 1), dim3(128, 2, 2), dim3(128, 4, 1),
                           dim3(256, 1, 1), dim3(256, 2, 1), dim3(512, 1, 1)}) {
    const dim3 grid(cover(inner, block.x), cover(inner, block.y), cover(inner, block.z));
    sweep.push_back({"blocks of " + shape(block), [=] {
                       point_kernel<T><<<grid, block, 0, stream_of(place)>>>(s, s.u);
                       cuda_finish(place);
                     }});
    if (block.x < 64) continue;
    const dim3 lines(cover(s.edge - 1, block.x), grid.y, grid.z);
    sweep.push_back({"lines, blocks of " + shape(block), [=] {
                       point_lines_kernel<T><<<lines, block, 0, stream_of(place)>>>(s, s.u);
                       cuda_finish(place);
                     }});
  }
  add_marching_lines<T, 4>(sweep, place, s);
  add_marching_lines<T, 8>(sweep, place, s);
  return sweep;
}

template <class T>
Sweep stencil7_marching(CudaPlace place, StencilArrays<T> s) {
  Sweep sweep;
  const std::ptrdiff_t inner = s.edge - 2;
  for (const dim3 block :
       {dim3(32, 4), dim3(32, 8), dim3(64, 4), dim3(64, 8), dim3(128, 2), dim3(128, 4), dim3(256, 1)})
    for (const int length : {4, 8, 16, 32, 64}) {
      const dim3 grid(cover(inner, block.x), cover(inner, block.y),
                      cover(inner, static_cast<unsigned>(length)));
      sweep.push_back({"blocks of " + shape(block) + ", " + std::to_string(length) + " planes", [=] {
                         marching_kernel<T><<<grid, block, 0, stream_of(place)>>>(s, s.u, length);
                         cuda_finish(place);
                       }});
    }
  add_marching_lines<T, 4>(sweep, place, s);
  add_marching_lines<T, 8>(sweep, place, s);
  add_marching_lines<T, 32>(sweep, place, s);
  add_marching_lines<T, 128>(sweep, place, s);
  return sweep;
}

template Sweep stencil7_by_hand(CudaPlace, StencilArrays<float>);
template Sweep stencil7_by_hand(CudaPlace, StencilArrays<double>);
template Sweep stencil7_marching(CudaPlace, StencilArrays<float>);
template Sweep stencil7_marching(CudaPlace, StencilArrays<double>);

}  // namespace perf
