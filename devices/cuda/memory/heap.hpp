// DeviceHeap: where the arrays in a GPU's memory come from: slabs of Strata's own (slab_heap.hpp), or CUDA's
// pool (pool_heap.hpp). Not thread-safe: the owner locks. A released block may be handed out again at once;
// the owner releases it when that is safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Bytes, but for the last two.
struct HeapStatistics {
  std::size_t held = 0;   ///< taken from CUDA
  std::size_t used = 0;   ///< of live blocks
  std::size_t peak = 0;   ///< the most that was used at once
  std::size_t limit = 0;  ///< 0: none
  std::size_t slabs = 0;
  std::size_t blocks = 0;  ///< live
};

class DeviceHeap {
 public:
  /// Addresses are multiples of this many bytes, and sizes are rounded up to it.
  static constexpr std::size_t alignment = 512;

  virtual ~DeviceHeap() = default;

  /// At least one byte; null where limit and memory allow no more.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* address) = 0;
  /// As release(), without a call of CUDA, which may be gone already.
  virtual void forget(void* address) = 0;
  /// Counts memory that was allocated from CUDA otherwise as held and used; false where the limit forbids it.
  [[nodiscard]] virtual bool charge(std::size_t bytes) = 0;
  virtual void discharge(std::size_t bytes) = 0;
  /// Gives unused memory back while more than `keep` bytes are held; returns the bytes given back.
  virtual std::size_t trim(std::size_t keep) = 0;
  virtual void set_limit(std::size_t bytes) = 0;
  virtual HeapStatistics statistics() const = 0;
  /// Of a live block.
  virtual std::size_t bytes_of(void* address) const = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
