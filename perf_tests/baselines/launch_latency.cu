// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "baselines/launch_latency.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

template <int Bytes>
struct Arguments {
  double pad[Bytes / 8 - 2];
  double* a;
  long long n;
};
template <int Bytes>
__global__ void __launch_bounds__(256) store_kernel(const __grid_constant__ Arguments<Bytes> arguments) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < arguments.n) arguments.a[i] = arguments.pad[0];
}

template <int Bytes>
Sweep launches(CudaPlace place, const LaunchArguments& launch) {
  static_assert(sizeof(Arguments<Bytes>) == Bytes);
  Arguments<Bytes> arguments{};
  arguments.pad[0] = launched_value;
  arguments.a = launch.a;
  arguments.n = launch.n;
  Sweep sweep;
  for (const int block : {32, 64, 128, 256}) {
    const auto blocks = static_cast<unsigned>((launch.n + block - 1) / block);
    sweep.push_back({"blocks of " + std::to_string(block), [=, calls = launch.calls] {
                       for (int c = 0; c < calls; ++c)
                         store_kernel<Bytes><<<blocks, block, 0, stream_of(place)>>>(arguments);
                       cuda_finish(place);
                     }});
  }
  return sweep;
}

// One block of up to 1024 threads, `Width` values a load; n is a multiple of Width.
template <int Width>
__global__ void __launch_bounds__(1024) norm_kernel(const double* __restrict__ x, int n, double* result) {
  using P = Pack<double, Width>;
  double sum = 0;
#pragma unroll 4
  for (int p = static_cast<int>(threadIdx.x); p < n / Width; p += static_cast<int>(blockDim.x)) {
    const P values = reinterpret_cast<const P*>(x)[p];
    for (int w = 0; w < Width; ++w) sum += values.value[w] * values.value[w];
  }
  __shared__ double of_warp[32];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x == 0) *result = sqrt(sum);
}

template <int Width>
void add_norms(Sweep& sweep, CudaPlace place, const SmallNorm& norm) {
  if (norm.n % Width != 0) return;
  const auto pinned = pinned_value<double>();
  for (const int block : {32, 128, 256, 512, 1024})
    sweep.push_back(
        {"one block of " + std::to_string(block) + ", " + std::to_string(8 * Width) + " bytes a load", [=] {
           double* const into = norm.to_host ? pinned.get() : norm.result;
           for (int c = 0; c < norm.calls; ++c)
             norm_kernel<Width><<<1, block, 0, stream_of(place)>>>(norm.x, static_cast<int>(norm.n), into);
           cuda_finish(place);
           if (norm.to_host) *norm.result = *pinned;
         }});
}

}  // namespace

Sweep launch_by_hand(CudaPlace place, LaunchArguments arguments) {
  switch (arguments.bytes) {
    case 40:
      return launches<40>(place, arguments);
    case 480:
      return launches<480>(place, arguments);
    case 3000:
      return launches<3000>(place, arguments);
    case 20000:
      return launches<20000>(place, arguments);
    default:
      throw std::invalid_argument("launch_by_hand: no kernel of " + std::to_string(arguments.bytes) +
                                  " bytes of arguments");
  }
}

Sweep small_norm_by_hand(CudaPlace place, SmallNorm norm) {
  Sweep sweep;
  add_norms<1>(sweep, place, norm);
  add_norms<2>(sweep, place, norm);
  return sweep;
}

}  // namespace perf
