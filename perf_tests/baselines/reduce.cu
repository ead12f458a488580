// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include <cub/device/device_reduce.cuh>
#include <cuda/functional>
#include <thrust/iterator/counting_iterator.h>

#include "baselines/block_sum.hpp"
#include "baselines/reduce.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

template <class T, bool Dot>
struct Product {
  const T *x, *y;
  __host__ __device__ T operator()(long long i) const {
    if constexpr (Dot) return x[i] * y[i];
    else return x[i];
  }
};

// Each thread takes `Unroll` packs of `Width` values a turn.
template <class T, bool Dot, int Width, int Unroll>
__global__ void __launch_bounds__(1024)
    reduce_kernel(const T* __restrict__ x, const T* __restrict__ y, long long n, Gathering<T> gathering) {
  using P = Pack<T, Width>;
  const long long packs = n / Width, threads = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long self = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  const Product<T, Dot> product{x, y};
  T sums[Unroll] = {};
  for (long long first = self; first < packs; first += threads * Unroll) {
    P left[Unroll] = {}, right[Unroll] = {};
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const long long p = first + u * threads;
      if (p >= packs) continue;
      left[u] = reinterpret_cast<const P*>(x)[p];
      if constexpr (Dot) right[u] = reinterpret_cast<const P*>(y)[p];
    }
#pragma unroll
    for (int u = 0; u < Unroll; ++u)
#pragma unroll
      for (int w = 0; w < Width; ++w)
        sums[u] += Dot ? left[u].value[w] * right[u].value[w] : left[u].value[w];
  }
  T sum = 0;
  for (int u = 0; u < Unroll; ++u) sum += sums[u];
  if (packs * Width + self < n) sum += product(packs * Width + self);
  gather(gathering, blockIdx.x, gridDim.x, sum);
}

template <class T>
__global__ void store_root(const T* sum, T* result) {
  *result = sqrt(*sum);
}

// Runs launch(result) as often as asked; sums for the host come through pinned memory.
template <class T, class Launch>
Competitor repeated(std::string name, CudaPlace place, ReduceArrays<T> a, Launch launch) {
  const auto pinned = pinned_value<T>();
  return {std::move(name), [=] {
            T* const into = a.into == ReduceInto::Host ? pinned.get() : a.result;
            for (int c = 0; c < a.calls; ++c) launch(into);
            cuda_finish(place);
            if (a.into == ReduceInto::Host) *a.result = *pinned;
          }};
}

template <class T, bool Dot, int Width, int Unroll>
void add_blocks(Sweep& sweep, CudaPlace place, ReduceArrays<T> a) {
  const long long processors = multiprocessors();
  constexpr long long most_threads = 2048;  // of a multiprocessor
  for (const int block : {256, 512, 1024}) {
    const long long each = static_cast<long long>(block) * Width * Unroll;
    const long long all = std::max<long long>(1, (a.n + each - 1) / each);
    std::vector<long long> grids = {std::min(all, processors * (most_threads / block)),
                                    std::min(all, 2 * processors * (most_threads / block))};
    if (a.n <= 100000) grids = {1, std::min(all, processors)};
    for (const long long grid : grids) {
      const auto partials = cuda_array<T>(static_cast<std::size_t>(grid));
      const auto done = cuda_array<unsigned>(1);
      const auto launch = [=](T* result) {
        reduce_kernel<T, Dot, Width, Unroll><<<static_cast<unsigned>(grid), block, 0, stream_of(place)>>>(
            a.x, a.y, a.n, Gathering<T>{partials.get(), done.get(), result, a.into == ReduceInto::Root});
      };
      sweep.push_back(repeated(std::to_string(grid) + " blocks of " + std::to_string(block) + ", " +
                                   std::to_string(Width * sizeof(T)) + " bytes a load, " +
                                   std::to_string(Unroll) + " a turn",
                               place, a, launch));
    }
  }
}

template <class T, bool Dot>
Sweep variants(CudaPlace place, ReduceArrays<T> a) {
  constexpr int wide = 16 / sizeof(T);
  Sweep sweep;
  add_blocks<T, Dot, 1, 1>(sweep, place, a);
  add_blocks<T, Dot, 1, 4>(sweep, place, a);
  add_blocks<T, Dot, wide, 1>(sweep, place, a);
  add_blocks<T, Dot, wide, 4>(sweep, place, a);
  return sweep;
}

template <class T, bool Dot>
void cub_sum(CudaPlace place, ReduceArrays<T> a, void* temporary, std::size_t& bytes, T* result) {
  if constexpr (Dot)
    cuda_check(cub::DeviceReduce::TransformReduce(temporary, bytes, thrust::counting_iterator<long long>(0),
                                                  result, static_cast<long long>(a.n), cuda::std::plus<>{},
                                                  Product<T, true>{a.x, a.y}, T(0), stream_of(place)));
  else
    cuda_check(
        cub::DeviceReduce::Sum(temporary, bytes, a.x, result, static_cast<long long>(a.n), stream_of(place)));
}

template <class T, bool Dot>
Sweep by_cub(CudaPlace place, ReduceArrays<T> a) {
  std::size_t needed = 0;
  cub_sum<T, Dot>(place, a, nullptr, needed, a.result);
  const auto temporary = cuda_array<char>(std::max<std::size_t>(1, needed));
  const auto sum = cuda_array<T>(1);
  return {repeated("CUB", place, a, [=](T* result) {
    std::size_t bytes = needed;
    const bool root = a.into == ReduceInto::Root;
    cub_sum<T, Dot>(place, a, temporary.get(), bytes, root ? sum.get() : result);
    if (root) store_root<<<1, 1, 0, stream_of(place)>>>(sum.get(), result);
  })};
}

}  // namespace

template <class T>
Sweep reduce_by_hand(CudaPlace place, ReduceArrays<T> a) {
  return a.y ? variants<T, true>(place, a) : variants<T, false>(place, a);
}
template <class T>
Sweep reduce_by_library(CudaPlace place, ReduceArrays<T> a) {
  return a.y ? by_cub<T, true>(place, a) : by_cub<T, false>(place, a);
}

template Sweep reduce_by_hand(CudaPlace, ReduceArrays<float>);
template Sweep reduce_by_hand(CudaPlace, ReduceArrays<double>);
template Sweep reduce_by_library(CudaPlace, ReduceArrays<float>);
template Sweep reduce_by_library(CudaPlace, ReduceArrays<double>);

}  // namespace perf
