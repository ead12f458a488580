// PoolHeap: book-keeping of the blocks that a memory pool of CUDA hands out. Blocks come from functions, so
// it can be tested anywhere.
//
// The pool serves others in the process too, so it holds more than is counted here. The limit bounds the live
// blocks and the charged bytes counted here only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <unordered_map>

#include <strata/devices/cuda/memory/heap.hpp>

namespace strata::inline STRATA_ABI::detail {

class PoolHeap final : public DeviceHeap {
 public:
  /// The pool. `take` returns null where there is no memory; none throws.
  struct Source {
    void* (*take)(void* context, std::size_t bytes);
    void (*give)(void* context, void* address);
    std::size_t (*held)(void* context);
    void (*trim)(void* context, std::size_t keep);
    void* context;
  };

  /// Hands out at most `limit` bytes; 0: as many as there are.
  explicit PoolHeap(const Source& source, std::size_t limit = 0) : source_(source), limit_(limit) {}

  [[nodiscard]] void* allocate(std::size_t bytes) override;
  void release(void* address) override;
  void forget(void* address) override;
  [[nodiscard]] bool charge(std::size_t bytes) override;
  void discharge(std::size_t bytes) override;
  std::size_t trim(std::size_t keep) override;
  void set_limit(std::size_t bytes) override { limit_ = bytes; }
  HeapStatistics statistics() const override;
  std::size_t bytes_of(void* address) const override { return live_.at(address); }

 private:
  std::size_t held() const { return source_.held(source_.context); }

  Source source_;
  std::size_t limit_;
  std::size_t used_ = 0, peak_ = 0, charged_ = 0;
  std::unordered_map<void*, std::size_t> live_;
};

}  // namespace strata::inline STRATA_ABI::detail
