// Turning CUDA's error codes into the exceptions of Strata. Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <cuda_runtime_api.h>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// "out of memory (cudaErrorMemoryAllocation)".
std::string cuda_text(cudaError_t code);

/// Whether nothing more can be done on the device after this error, in this process.
bool is_sticky(cudaError_t code);

/// Throws KernelError for any error: the call that was tried, the device, CUDA's text, and what to do. Sticky
/// errors list the kernels in flight.
void check_cuda(cudaError_t code, const char* tried, int device);
[[noreturn]] void fail_cuda(cudaError_t code, const std::string& tried, int device);

/// Whether fail_cuda has thrown a sticky error of the device to the program. Every later call gets that error
/// again.
bool cuda_failure_was_reported(int device);

/// While it lives, errors that fail_cuda throws on the calling thread do not reach the program.
class DroppedCudaErrors {
 public:
  DroppedCudaErrors();
  ~DroppedCudaErrors();
  DroppedCudaErrors(const DroppedCudaErrors&) = delete;
  DroppedCudaErrors& operator=(const DroppedCudaErrors&) = delete;
};

/// Makes `device` current on the calling thread for a scope. Launches do without; the rest of the API needs
/// it.
class CudaDeviceScope {
 public:
  explicit CudaDeviceScope(int device);
  ~CudaDeviceScope();
  CudaDeviceScope(const CudaDeviceScope&) = delete;
  CudaDeviceScope& operator=(const CudaDeviceScope&) = delete;

 private:
  int before_ = -1;  // -1: nothing to restore
};

}  // namespace strata::inline STRATA_ABI::detail
