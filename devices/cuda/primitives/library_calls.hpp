// The CUDA libraries of this folder as they are loaded, their handles, and calls of cuBLAS: for the sources
// of this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <dlfcn.h>

#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/cuda/primitives/libraries.hpp>
#include <strata/devices/cuda/space.hpp>

namespace strata::inline STRATA_ABI::detail {

// ---- the libraries

/// A shared library that stays loaded.
class Library {
 public:
  Library(const char* name, int major) : file_(std::string(name) + ".so." + std::to_string(major)) {
    handle_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const char* const reason = dlerror();
    throw KernelError("Backend::Vendor needs " + file_ +
                      ", which cannot be loaded: " + (reason != nullptr ? reason : "no reason given") +
                      ". Install it, name its folder in LD_LIBRARY_PATH, or use Backend::Strata");
  }
  /// Sets `function` to the library's function of that name.
  template <class F>
  void find(F& function, const char* name) const {
    function = reinterpret_cast<F>(dlsym(handle_, name));
    if (function == nullptr)
      throw KernelError("Backend::Vendor: " + file_ + " has no function " + name +
                        "; it is older than the headers that Strata was built with");
  }

 private:
  std::string file_;
  void* handle_;
};

#define STRATA_LIBRARY_FUNCTION(name) decltype(&::name) name = find<decltype(&::name)>(#name)

/// cuBLAS; the 64-bit interface.
struct Blas {
  Library library{"libcublas", CUBLAS_VER_MAJOR};
  template <class F>
  F find(const char* name) {
    F function;
    library.find(function, name);
    return function;
  }
  STRATA_LIBRARY_FUNCTION(cublasCreate_v2);
  STRATA_LIBRARY_FUNCTION(cublasDestroy_v2);
  STRATA_LIBRARY_FUNCTION(cublasSetStream_v2);
  STRATA_LIBRARY_FUNCTION(cublasSetWorkspace_v2);
  STRATA_LIBRARY_FUNCTION(cublasSetPointerMode_v2);
  STRATA_LIBRARY_FUNCTION(cublasGetStatusString);
  STRATA_LIBRARY_FUNCTION(cublasSetMathMode);
  STRATA_LIBRARY_FUNCTION(cublasSdot_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasDdot_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasSnrm2_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasDnrm2_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasSaxpy_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasDaxpy_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasSscal_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasDscal_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasSgemm_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasDgemm_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasSsyrk_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasDsyrk_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasStrsm_v2_64);
  STRATA_LIBRARY_FUNCTION(cublasDtrsm_v2_64);

  static Blas& get() {
    static auto* const loaded = new Blas;
    return *loaded;
  }
};

/// cuSPARSE.
struct Sparse {
  Library library{"libcusparse", CUSPARSE_VER_MAJOR};
  template <class F>
  F find(const char* name) {
    F function;
    library.find(function, name);
    return function;
  }
  STRATA_LIBRARY_FUNCTION(cusparseCreate);
  STRATA_LIBRARY_FUNCTION(cusparseDestroy);
  STRATA_LIBRARY_FUNCTION(cusparseSetStream);
  STRATA_LIBRARY_FUNCTION(cusparseSetPointerMode);
  STRATA_LIBRARY_FUNCTION(cusparseGetErrorString);
  STRATA_LIBRARY_FUNCTION(cusparseCreateConstCsr);
  STRATA_LIBRARY_FUNCTION(cusparseDestroySpMat);
  STRATA_LIBRARY_FUNCTION(cusparseCreateConstDnVec);
  STRATA_LIBRARY_FUNCTION(cusparseCreateDnVec);
  STRATA_LIBRARY_FUNCTION(cusparseDestroyDnVec);
  STRATA_LIBRARY_FUNCTION(cusparseSpMV_bufferSize);
  STRATA_LIBRARY_FUNCTION(cusparseSpMV_preprocess);
  STRATA_LIBRARY_FUNCTION(cusparseSpMV);

  static Sparse& get() {
    static auto* const loaded = new Sparse;
    return *loaded;
  }
};

/// cuSOLVER, of dense matrices.
struct Solver {
  Library library{"libcusolver", CUSOLVER_VER_MAJOR};
  template <class F>
  F find(const char* name) {
    F function;
    library.find(function, name);
    return function;
  }
  STRATA_LIBRARY_FUNCTION(cusolverDnCreate);
  STRATA_LIBRARY_FUNCTION(cusolverDnDestroy);
  STRATA_LIBRARY_FUNCTION(cusolverDnSetStream);
  STRATA_LIBRARY_FUNCTION(cusolverDnSpotrf_bufferSize);
  STRATA_LIBRARY_FUNCTION(cusolverDnDpotrf_bufferSize);
  STRATA_LIBRARY_FUNCTION(cusolverDnSpotrf);
  STRATA_LIBRARY_FUNCTION(cusolverDnDpotrf);
  STRATA_LIBRARY_FUNCTION(cusolverDnSgetrf_bufferSize);
  STRATA_LIBRARY_FUNCTION(cusolverDnDgetrf_bufferSize);
  STRATA_LIBRARY_FUNCTION(cusolverDnSgetrf);
  STRATA_LIBRARY_FUNCTION(cusolverDnDgetrf);

  static Solver& get() {
    static auto* const loaded = new Solver;
    return *loaded;
  }
};

#undef STRATA_LIBRARY_FUNCTION

[[noreturn]] inline void fail_library(const char* tried, int device, const char* words) {
  throw KernelError(std::string(tried) + " on Cuda{" + std::to_string(device) + "} failed: " + words +
                    ". Backend::Strata does without the library");
}
inline void check_blas(cublasStatus_t status, const char* tried, int device) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]]
    fail_library(tried, device, Blas::get().cublasGetStatusString(status));
}
inline void check_sparse(cusparseStatus_t status, const char* tried, int device) {
  if (status != CUSPARSE_STATUS_SUCCESS) [[unlikely]]
    fail_library(tried, device, Sparse::get().cusparseGetErrorString(status));
}
inline void check_solver(cusolverStatus_t status, const char* tried, int device) {
  if (status != CUSOLVER_STATUS_SUCCESS) [[unlikely]]
    fail_library(tried, device, ("error " + std::to_string(static_cast<int>(status))).c_str());
}

// ---- handles: one for each stream, as two streams must not use the memory of a handle at once

/// Makes a GPU current on this thread: the libraries tie a handle to the one that is.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    cudaGetDevice(&before_);
    cudaSetDevice(device);
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

struct Handles {
  cublasHandle_t blas = nullptr;
  cusparseHandle_t sparse = nullptr;
  cusolverDnHandle_t solver = nullptr;
};

/// The handles of all streams, until the runtime ends. Streams are pooled, so there are few.
class HandleTable {
 public:
  static HandleTable& get() {
    static auto* const table = [] {
      at_end([]() noexcept { get().clear(); });
      return new HandleTable;
    }();
    return *table;
  }
  Handles& of(int device, CUstream_st* stream) {
    const std::lock_guard lock(mutex_);
    return handles_[{device, stream}];  // stays where it is when others come
  }

 private:
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, handles] : handles_) {
      const CurrentDevice current(key.first);
      if (handles.blas != nullptr) Blas::get().cublasDestroy_v2(handles.blas);
      if (handles.sparse != nullptr) Sparse::get().cusparseDestroy(handles.sparse);
      if (handles.solver != nullptr) Solver::get().cusolverDnDestroy(handles.solver);
    }
    handles_.clear();
  }

  std::mutex mutex_;
  std::map<std::pair<int, CUstream_st*>, Handles> handles_;
};

/// The GPU that a launch goes to.
inline int device_of(const LaunchInfo& info) {
  if (info.queue != nullptr) return info.queue->instance().index();
  if (info.instance >= 0) return info.instance;
  if (info.views->instance >= 0) return info.views->instance;
  return info.views->shared_instance >= 0 ? info.views->shared_instance : 0;
}

/// Of cuBLAS: as it recommends for products of matrices on Hopper; operations on vectors need next to none.
inline constexpr std::size_t matrix_workspace_bytes = std::size_t{32} << 20;
inline constexpr std::size_t vector_workspace_bytes = std::size_t{1} << 20;

/// One call of cuBLAS, in the queue's order.
class BlasCall {
 public:
  BlasCall(const LaunchInfo& info, EventKind kind, index_t items,
           std::size_t workspace_bytes = vector_workspace_bytes, std::size_t slot_bytes = 256)
      : device_(device_of(info)),
        current_(device_),
        workspace_bytes_(workspace_bytes),
        launch_(cuda_queue_for(info), kind, info, items),
        handle_(handle()) {
    Blas& blas = Blas::get();
    check_blas(blas.cublasSetStream_v2(handle_, launch_.stream()), "cublasSetStream", device_);
    // The stream's memory goes back to the library's own with each cublasSetStream.
    workspace_ = launch_.scratch(workspace_bytes_ + slot_bytes).partials;
    check_blas(blas.cublasSetWorkspace_v2(handle_, workspace_, workspace_bytes_), "cublasSetWorkspace",
               device_);
  }

  /// `call(blas, handle, scalar)`; `scalar` is on the device or the host, as it says.
  template <class Call>
  void run(const char* name, const CudaLibraryScalar& scalar, const Call& call) const {
    Blas& blas = Blas::get();
    const auto mode = scalar.on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
    check_blas(blas.cublasSetPointerMode_v2(handle_, mode), "cublasSetPointerMode", device_);
    check_blas(call(blas, handle_, scalar.data), name, device_);
  }
  /// The same for a result. A result for the host is copied through the queue's memory, and waited for.
  template <class Call>
  void run_for_result(const char* name, const CudaLibraryScalar& result, std::size_t bytes,
                      const Call& call) const {
    run(name, {result.on_device ? result.data : slot(), true}, call);
    if (!result.on_device) launch_.fetch(result.data, slot(), bytes);
  }
  /// Memory of the GPU of `slot_bytes`, until the call is done.
  void* slot() const { return static_cast<char*>(workspace_) + workspace_bytes_; }
  const CudaLaunch& launch() const { return launch_; }

 private:
  cublasHandle_t handle() const {
    Handles& handles = HandleTable::get().of(device_, launch_.stream());
    if (handles.blas == nullptr)
      check_blas(Blas::get().cublasCreate_v2(&handles.blas), "cublasCreate", device_);
    return handles.blas;
  }

  const int device_;
  const CurrentDevice current_;
  const std::size_t workspace_bytes_;
  CudaLaunch launch_;
  const cublasHandle_t handle_;
  void* workspace_ = nullptr;
};

}  // namespace strata::inline STRATA_ABI::detail
