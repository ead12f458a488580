// SPDX-License-Identifier: Apache-2.0
#include "baselines/row_average.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

// A thread does `Width` neighbouring items, all their rows, as the kernel of figure 6 does; n is a multiple
// of Width.
template <class T, int Width>
__global__ void __launch_bounds__(1024) row_average_kernel(RowAverageArrays<T> a) {
  using P = Pack<T, Width>;
  const long long packs = a.n / Width, p = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (p >= packs) return;
  const P* const x = reinterpret_cast<const P*>(a.x);
  P* const y = reinterpret_cast<P*>(a.y);
  for (int j = 0; j < a.n1; ++j) {
    P sum = {};
#pragma unroll 8
    for (int k = 0; k < a.n2; ++k) {
      const P value = x[p + packs * (j + static_cast<long long>(a.n1) * k)];
      for (int w = 0; w < Width; ++w) sum.value[w] += value.value[w];
    }
    for (int w = 0; w < Width; ++w) sum.value[w] /= static_cast<T>(a.n2);
    y[p + packs * j] = sum;
  }
}

// A thread for each average.
template <class T>
__global__ void __launch_bounds__(1024) one_average_kernel(RowAverageArrays<T> a) {
  const long long averages = a.n * a.n1, i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i >= averages) return;
  T sum = 0;
#pragma unroll 8
  for (int k = 0; k < a.n2; ++k) sum += a.x[i + averages * k];
  a.y[i] = sum / static_cast<T>(a.n2);
}

template <class T, int Width>
void add_blocks(Sweep& sweep, CudaPlace place, RowAverageArrays<T> a) {
  if (a.n % Width != 0) return;
  for (const int block : {64, 128, 256, 512}) {
    const auto blocks = static_cast<unsigned>((a.n / Width + block - 1) / block);
    sweep.push_back(
        {"blocks of " + std::to_string(block) + ", " + std::to_string(Width * sizeof(T)) + " bytes a load",
         [=] {
           row_average_kernel<T, Width><<<blocks, block, 0, stream_of(place)>>>(a);
           cuda_finish(place);
         }});
  }
}

}  // namespace

template <class T>
Sweep row_average_by_hand(CudaPlace place, RowAverageArrays<T> a) {
  Sweep sweep;
  add_blocks<T, 1>(sweep, place, a);
  add_blocks<T, 16 / sizeof(T)>(sweep, place, a);
  return sweep;
}
template Sweep row_average_by_hand(CudaPlace, RowAverageArrays<float>);
template Sweep row_average_by_hand(CudaPlace, RowAverageArrays<double>);

template <class T>
Sweep one_average_by_hand(CudaPlace place, RowAverageArrays<T> a) {
  Sweep sweep;
  for (const int block : {128, 256, 512}) {
    const auto blocks = static_cast<unsigned>((a.n * a.n1 + block - 1) / block);
    sweep.push_back({"blocks of " + std::to_string(block) + ", a thread an average", [=] {
                       one_average_kernel<T><<<blocks, block, 0, stream_of(place)>>>(a);
                       cuda_finish(place);
                     }});
  }
  return sweep;
}
template Sweep one_average_by_hand(CudaPlace, RowAverageArrays<float>);
template Sweep one_average_by_hand(CudaPlace, RowAverageArrays<double>);

}  // namespace perf
