// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "baselines/allocation.hpp"
#include "common/cuda_check.hpp"

namespace perf {

namespace {

std::shared_ptr<CUmemPoolHandle_st> keeping_pool() {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cuda_check(cudaGetDevice(&properties.location.id));
  cudaMemPool_t pool = nullptr;
  cuda_check(cudaMemPoolCreate(&pool, &properties));
  std::uint64_t keep = UINT64_MAX;
  cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  return {pool, [](cudaMemPool_t old) { cudaMemPoolDestroy(old); }};
}

}  // namespace

Sweep allocation_baseline(CudaPlace place, std::size_t bytes, int calls) {
  const auto pool = keeping_pool();
  return {{"cudaMallocAsync, cudaFreeAsync", [=] {
             for (int c = 0; c < calls; ++c) {
               void* memory = nullptr;
               cuda_check(cudaMallocFromPoolAsync(&memory, bytes, pool.get(), stream_of(place)));
               cuda_check(cudaFreeAsync(memory, stream_of(place)));
             }
           }}};
}

Sweep allocation_without_pool(CudaPlace, std::size_t bytes, int calls) {
  return {{"cudaMalloc, cudaFree", [=] {
             for (int c = 0; c < calls; ++c) {
               void* memory = nullptr;
               cuda_check(cudaMalloc(&memory, bytes));
               cuda_check(cudaFree(memory));
             }
           }}};
}

}  // namespace perf
