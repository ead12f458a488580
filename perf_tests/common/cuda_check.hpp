// Calls of CUDA in competitors: an error ends the program. For files that nvcc compiles, without a Strata
// header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <cuda_runtime.h>

#include "common/competitor.hpp"

namespace perf {

inline void cuda_check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "CUDA, in a competitor: %s\n", cudaGetErrorString(code));
  std::exit(1);
}

inline cudaStream_t stream_of(CudaPlace place) { return static_cast<cudaStream_t>(place.stream); }

/// After a launch: waits for the stream.
inline void cuda_finish(CudaPlace place) {
  cuda_check(cudaGetLastError());
  cuda_check(cudaStreamSynchronize(stream_of(place)));
}

/// Zeroed memory of a GPU.
template <class T>
std::shared_ptr<T> cuda_array(std::size_t n) {
  void* data = nullptr;
  cuda_check(cudaMalloc(&data, n * sizeof(T)));
  cuda_check(cudaMemset(data, 0, n * sizeof(T)));
  return {static_cast<T*>(data), [](T* memory) { cudaFree(memory); }};
}
/// One value in pinned memory, which kernels reach at the same address.
template <class T>
std::shared_ptr<T> pinned_value() {
  void* data = nullptr;
  cuda_check(cudaMallocHost(&data, sizeof(T)));
  *static_cast<T*>(data) = T();
  return {static_cast<T*>(data), [](T* memory) { cudaFreeHost(memory); }};
}

inline int multiprocessors() {
  int device = 0, count = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// `Width` values that one instruction loads or stores.
template <class T, int Width>
struct alignas(sizeof(T) * Width) Pack {
  T value[Width];
};

}  // namespace perf
