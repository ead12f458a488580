// The calls of CUDA on pages of managed memory, whose names and arguments depend on its version.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

#include <strata/core/config.hpp>
#include <strata/devices/cuda/memory/managed.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Of a GPU's number, or managed_on_host.
inline cudaMemLocation managed_location(int place) {
  if (place == managed_on_host) return {cudaMemLocationTypeHost, 0};
  return {cudaMemLocationTypeDevice, place};
}

// CUDA 13 gave the functions that take a location the plain names.
inline cudaError_t prefetch_pages(const void* begin, std::size_t bytes, int place, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  return cudaMemPrefetchAsync(begin, bytes, managed_location(place), 0, stream);
#else
  return cudaMemPrefetchAsync_v2(begin, bytes, managed_location(place), 0, stream);
#endif
}
inline cudaError_t advise_on_pages(const void* begin, std::size_t bytes, cudaMemoryAdvise advice, int place) {
#if CUDART_VERSION >= 13000
  return cudaMemAdvise(begin, bytes, advice, managed_location(place));
#else
  return cudaMemAdvise_v2(begin, bytes, advice, managed_location(place));
#endif
}

/// Several at once. cudaErrorNotSupported where CUDA is too old for it.
inline cudaError_t prefetch_batch([[maybe_unused]] void** begins, [[maybe_unused]] std::size_t* bytes,
                                  [[maybe_unused]] std::size_t count, [[maybe_unused]] int place,
                                  [[maybe_unused]] bool discards, [[maybe_unused]] cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  cudaMemLocation location = managed_location(place);
  std::size_t first = 0;
  if (discards)
    return cudaMemDiscardAndPrefetchBatchAsync(begins, bytes, count, &location, &first, 1, 0, stream);
  return cudaMemPrefetchBatchAsync(begins, bytes, count, &location, &first, 1, 0, stream);
#else
  return cudaErrorNotSupported;
#endif
}

}  // namespace strata::inline STRATA_ABI::detail
