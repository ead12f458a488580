// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>

#include <cuda_runtime_api.h>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaInstance;

/// The end of a stream, as a number that the stream writes into pinned memory when it comes there. The host
/// sees it earlier than a wait of the driver returns: on an H200 a launch and a wait take 0.4 to 0.7 µs less
/// of 9 to 12.
class CudaStreamEnd {
 public:
  /// Enqueues the write of the next number, and returns that; 0 where the GPU's driver does not do it, or the
  /// host may touch managed memory only after a wait of the driver.
  std::uint32_t ask(CudaInstance& gpu, cudaStream_t stream);
  /// Whether the stream has written that number, or a later one. Never true after a failure.
  bool has_passed(std::uint32_t number) const {
    return static_cast<std::int32_t>(__atomic_load_n(word_, __ATOMIC_ACQUIRE) - number) >= 0;
  }

 private:
  std::mutex mutex_;
  std::uint32_t* word_ = nullptr;  // there from the first number on
  std::uint32_t last_ = 0;
  bool is_refused_ = false;
};

}  // namespace strata::inline STRATA_ABI::detail
