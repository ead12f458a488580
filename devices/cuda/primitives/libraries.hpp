// cuBLAS and cuSPARSE (and cuSOLVER: dense.hpp), called by functions without templates and without a CUDA
// header.
//
// They are loaded (dlopen) by the first call that needs them, not linked: they are hundreds of megabytes,
// which programs that never ask for them must not load, and a program built with them still starts where only
// the driver is installed. Their headers are used at compile time; the library's major version must be the
// header's.
//
// There is one handle a stream. Every call is one launch (CudaLaunch): it holds the queue's lock, is seen by
// listeners, and its scratch memory is the queue's. Calls return after enqueueing; those whose result is a
// number of the host wait for the queue. Errors: KernelError, WrongDevice, RuntimeEnded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/config.hpp>
#include <strata/core/ref.hpp>
#include <strata/devices/launch_info.hpp>

namespace strata::inline STRATA_ABI::detail {

enum class CudaReal : unsigned char { Float, Double };

/// Elements at data, data + stride, ...
struct CudaLibraryVector {
  void* data;
  index_t count;
  index_t stride;
};

/// One number, of the GPU or of the host.
struct CudaLibraryScalar {
  void* data;
  bool on_device;
};

/// A matrix in compressed rows; index sizes in bytes, 4 or 8.
struct CudaLibraryMatrix {
  index_t rows;
  index_t columns;
  index_t entry_count;
  const void* row_map;
  const void* entries;
  const void* values;
  int offset_bytes;
  int ordinal_bytes;
};

void cuda_library_dot(const LaunchInfo& info, CudaReal real, const CudaLibraryVector& x,
                      const CudaLibraryVector& y, const CudaLibraryScalar& result);
void cuda_library_norm2(const LaunchInfo& info, CudaReal real, const CudaLibraryVector& x,
                        const CudaLibraryScalar& result);
void cuda_library_axpy(const LaunchInfo& info, CudaReal real, const CudaLibraryScalar& a,
                       const CudaLibraryVector& x, const CudaLibraryVector& y);
void cuda_library_scale(const LaunchInfo& info, CudaReal real, const CudaLibraryScalar& a,
                        const CudaLibraryVector& x);

/// The data of cuSPARSE for one matrix: descriptors and the result of its analysis, for each queue.
Ref<RefCounted> make_cuda_library_plans();

/// y = a A x + b y; `plans` belongs to the matrix, whose structure never changes. Strides are 1.
void cuda_library_spmv(const LaunchInfo& info, CudaReal real, RefCounted& plans, const CudaLibraryScalar& a,
                       const CudaLibraryMatrix& matrix, const CudaLibraryVector& x,
                       const CudaLibraryScalar& b, const CudaLibraryVector& y);

}  // namespace strata::inline STRATA_ABI::detail
