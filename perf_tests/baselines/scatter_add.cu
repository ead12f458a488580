// SPDX-License-Identifier: Apache-2.0
#include "baselines/scatter_add.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

__device__ long long self() { return blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; }

template <class T>
__global__ void __launch_bounds__(1024) element_kernel(ScatterArrays<T> s) {
  const long long e = self();
  if (e >= s.elements) return;
  const T value = s.value[e];
#pragma unroll
  for (int k = 0; k < 8; ++k) atomicAdd(s.sum + s.node[e + s.elements * k], value);
}
// A thread for each node of each element.
template <class T>
__global__ void __launch_bounds__(1024) corner_kernel(ScatterArrays<T> s) {
  const long long p = self();
  if (p < 8 * s.elements) atomicAdd(s.sum + s.node[p], s.value[p % s.elements]);
}
template <class T>
__global__ void __launch_bounds__(1024) gather_kernel(ScatterArrays<T> s) {
  const long long v = self();
  if (v >= s.nodes) return;
  T sum = 0;
  for (std::int32_t k = s.first[v]; k < s.first[v + 1]; ++k) sum += s.value[s.element[k]];
  s.sum[v] = sum;
}

template <class T>
Sweep over_blocks(const char* name, CudaPlace place, ScatterArrays<T> s, std::ptrdiff_t threads, bool clears,
                  void (*kernel)(ScatterArrays<T>)) {
  Sweep sweep;
  for (const int block : {64, 128, 256, 512}) {
    const auto blocks = static_cast<unsigned>((threads + block - 1) / block);
    sweep.push_back({std::string(name) + ", blocks of " + std::to_string(block), [=] {
                       if (clears)
                         cuda_check(cudaMemsetAsync(s.sum, 0, static_cast<std::size_t>(s.nodes) * sizeof(T),
                                                    stream_of(place)));
                       kernel<<<blocks, block, 0, stream_of(place)>>>(s);
                       cuda_finish(place);
                     }});
  }
  return sweep;
}

}  // namespace

template <class T>
Sweep scatter_by_atomics(CudaPlace place, ScatterArrays<T> s) {
  Sweep sweep = over_blocks("atomics, a thread an element", place, s, s.elements, true, &element_kernel<T>);
  for (Competitor& c :
       over_blocks("atomics, a thread a node of each", place, s, 8 * s.elements, true, &corner_kernel<T>))
    sweep.push_back(std::move(c));
  return sweep;
}
template <class T>
Sweep gather_by_node(CudaPlace place, ScatterArrays<T> s) {
  return over_blocks("gathered by hand, sorted before", place, s, s.nodes, false, &gather_kernel<T>);
}

#define STRATA_PERF_FOR(T)                                        \
  template Sweep scatter_by_atomics(CudaPlace, ScatterArrays<T>); \
  template Sweep gather_by_node(CudaPlace, ScatterArrays<T>);
STRATA_PERF_FOR(float)
STRATA_PERF_FOR(double)
#undef STRATA_PERF_FOR

}  // namespace perf
