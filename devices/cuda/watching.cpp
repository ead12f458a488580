// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <strata/core/device_fence.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/nvtx.hpp>
#include <strata/devices/cuda/watching.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// CUDA gives an error of a kernel again to all that come later, so the queues still throw it.
void drain() noexcept {
  int before = 0;
  if (cudaGetDevice(&before) != cudaSuccess) return;
  for (const CudaInstance* const gpu : CudaInstance::started())
    if (cudaSetDevice(gpu->index()) == cudaSuccess) static_cast<void>(cudaDeviceSynchronize());
  static_cast<void>(cudaSetDevice(before));
}

}  // namespace

void start_watching_cuda() {
  at_fence("Cuda", drain);
  start_nvtx();
}

}  // namespace strata::inline STRATA_ABI::detail
