// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/stream_end.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using WriteValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

// Found through the runtime, as the driver's launch (launch/launch.cpp); null where there is none.
WriteValue driver_write_value() {
  static const WriteValue found = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (cudaGetDriverEntryPointByVersion("cuStreamWriteValue32", &entry, 12000, cudaEnableDefault, &result) ==
            cudaSuccess &&
        result == cudaDriverEntryPointSuccess)
      return reinterpret_cast<WriteValue>(entry);
    static_cast<void>(cudaGetLastError());
    return WriteValue(nullptr);
  }();
  return found;
}

}  // namespace

std::uint32_t CudaStreamEnd::ask(CudaInstance& gpu, cudaStream_t stream) {
  const WriteValue write = gpu.has_concurrent_managed_access() ? driver_write_value() : nullptr;
  if (write == nullptr) return 0;
  // Numbers are written in their order.
  const std::lock_guard lock(mutex_);
  if (is_refused_) return 0;
  const CudaDeviceScope scope(gpu.index());
  if (word_ == nullptr) {
    void* const memory = gpu.allocate(CudaMemoryKind::Pinned, sizeof(std::uint32_t));
    if (memory != nullptr) word_ = ::new (memory) std::uint32_t(0);
  }
  const std::uint32_t next = last_ + 1 == 0 ? 1 : last_ + 1;
  is_refused_ = word_ == nullptr || write(stream, reinterpret_cast<CUdeviceptr>(word_), next,
                                          CU_STREAM_WRITE_VALUE_DEFAULT) != CUDA_SUCCESS;
  if (is_refused_) return 0;
  return last_ = next;
}

}  // namespace strata::inline STRATA_ABI::detail
