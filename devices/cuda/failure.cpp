// SPDX-License-Identifier: Apache-2.0
#include <strata/core/error.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/launch/launch.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {
bool reported[max_cuda_devices];
constinit thread_local int dropping = 0;
}  // namespace

bool cuda_failure_was_reported(int device) { return __atomic_load_n(&reported[device], __ATOMIC_RELAXED); }

DroppedCudaErrors::DroppedCudaErrors() { ++dropping; }
DroppedCudaErrors::~DroppedCudaErrors() { --dropping; }

std::string cuda_text(cudaError_t code) {
  return std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
}

bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorTensorMemoryLeak:
      return true;
    default:
      return false;
  }
}

void fail_cuda(cudaError_t code, const std::string& tried, int device) {
  static_cast<void>(cudaGetLastError());  // an error that is not sticky is reported once, here
  const std::string where = "Cuda{" + std::to_string(device) + "}: ";
  if (is_sticky(code)) {
    if (dropping == 0 && device >= 0 && device < max_cuda_devices)
      __atomic_store_n(&reported[device], true, __ATOMIC_RELAXED);
    throw KernelError(
        where + tried + ": " + cuda_text(code) +
        "; CUDA allows no further work on this device in this process. " + cuda_kernels_in_flight(device) +
        ". Run a checked build (strata::strata_checked) or compute-sanitizer to find the access");
  }
  throw KernelError(where + tried + ": " + cuda_text(code));
}

void check_cuda(cudaError_t code, const char* tried, int device) {
  if (code != cudaSuccess) [[unlikely]]
    fail_cuda(code, tried, device);
}

CudaDeviceScope::CudaDeviceScope(int device) {
  int now = -1;
  check_cuda(cudaGetDevice(&now), "cudaGetDevice", device);
  if (now == device) return;
  check_cuda(cudaSetDevice(device), "cudaSetDevice", device);
  before_ = now;
}

CudaDeviceScope::~CudaDeviceScope() {
  if (before_ >= 0) cudaSetDevice(before_);
}

}  // namespace strata::inline STRATA_ABI::detail
