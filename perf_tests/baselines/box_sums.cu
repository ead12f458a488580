// SPDX-License-Identifier: Apache-2.0
#include "baselines/block_sum.hpp"
#include "baselines/boxes.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

// Blocks of `width` threads along x, as many rows of them as there is room for; each thread adds up `Length`
// points along the slowest index.
template <class Formula, class T, int Length>
__global__ void __launch_bounds__(512)
    sum_kernel(std::ptrdiff_t edge, unsigned width, const T* __restrict__ u, Gathering<T> gathering) {
  const unsigned end = static_cast<unsigned>(edge) - 1, height = blockDim.x / width;
  const unsigned x = blockIdx.x * width + threadIdx.x % width;
  const unsigned line = blockIdx.y * height + threadIdx.x / width;
  const unsigned y = 1 + line, z = 1 + blockIdx.z * Length;
  const long long row = edge, step = row * row;
  const long long p = (z * row + y) * row + x;
  T sum = 0;
  if (x - 1 < end - 1 && y < end && z < end) {
    const T* here = u + p;
    const auto add = [&](int w) {
      sum += Formula::template of<T>([&](int i, int j, int k) { return here[i + j * row + (w + k) * step]; });
    };
    if (end - z >= Length)
#pragma unroll 8
      for (int w = 0; w < Length; ++w) add(w);
    else
#pragma unroll 1
      for (unsigned w = 0; w < end - z; ++w) add(static_cast<int>(w));
  }
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  gather(gathering, block, gridDim.x * gridDim.y * gridDim.z, sum);
}

unsigned cover(std::ptrdiff_t n, std::ptrdiff_t each) { return static_cast<unsigned>((n + each - 1) / each); }

template <class Formula, int Length, class T>
void add(Sweep& sweep, CudaPlace place, BoxSum<T> s) {
  const auto pinned = pinned_value<T>();
  for (const unsigned threads : {128u, 256u, 512u})
    for (const unsigned width : {32u, 64u, 128u}) {
      const std::ptrdiff_t walks = cover(s.edge - 2, Length);
      const dim3 grid(cover(s.edge - 1, width), cover(s.edge - 2, threads / width),
                      static_cast<unsigned>(walks));
      const auto partials = cuda_array<T>(std::size_t{grid.x} * grid.y * grid.z);
      const auto done = cuda_array<unsigned>(1);
      sweep.push_back({"blocks of " + std::to_string(width) + " x " + std::to_string(threads / width) +
                           ", walks of " + std::to_string(Length),
                       [=] {
                         sum_kernel<Formula, T, Length><<<grid, threads, 0, stream_of(place)>>>(
                             s.edge, width, s.u, {partials.get(), done.get(), pinned.get(), false});
                         cuda_finish(place);
                         *s.result = *pinned;
                       }});
    }
}
}  // namespace

template <class Formula, class T>
Sweep box_sum_by_hand(CudaPlace place, BoxSum<T> s) {
  Sweep sweep;
  add<Formula, 8>(sweep, place, s);
  add<Formula, 32>(sweep, place, s);
  add<Formula, 128>(sweep, place, s);
  return sweep;
}

template Sweep box_sum_by_hand<CopyPoint>(CudaPlace, BoxSum<float>);
template Sweep box_sum_by_hand<CopyPoint>(CudaPlace, BoxSum<double>);
template Sweep box_sum_by_hand<SquaredResidual>(CudaPlace, BoxSum<float>);
template Sweep box_sum_by_hand<SquaredResidual>(CudaPlace, BoxSum<double>);

}  // namespace perf
