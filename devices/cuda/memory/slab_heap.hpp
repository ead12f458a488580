// SlabHeap: blocks cut from slabs of device memory, best fit, free neighbours merged. Book-keeping only: the
// memory it hands out is never touched, slabs come from a function, so it can be tested anywhere.
//
// Slabs are plain cudaMalloc memory, which, unlike that of the driver's own pools, other processes can be
// given handles of. Not thread-safe: the owner locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include <strata/devices/cuda/memory/heap.hpp>

namespace strata::inline STRATA_ABI::detail {

class SlabHeap final : public DeviceHeap {
 public:
  /// Where slabs come from. `take` returns null where there is no memory; neither throws.
  struct Source {
    void* (*take)(void* context, std::size_t bytes);
    void (*give)(void* context, void* slab, std::size_t bytes);
    void* context;
  };
  /// Slabs are at least this large, while the limit allows it, and multiples of `slab_unit`.
  static constexpr std::size_t slab_bytes = std::size_t{64} << 20;
  static constexpr std::size_t slab_unit = std::size_t{2} << 20;

  /// Takes at most `limit` bytes of slabs; 0: as many as the source gives.
  explicit SlabHeap(const Source& source, std::size_t limit = 0) : source_(source), limit_(limit) {}
  ~SlabHeap() override;
  SlabHeap(const SlabHeap&) = delete;
  SlabHeap& operator=(const SlabHeap&) = delete;

  /// At least one byte; null where neither a free block nor a new slab will do.
  [[nodiscard]] void* allocate(std::size_t bytes) override;
  void release(void* address) override;
  void forget(void* address) override { release(address); }  // slabs stay
  [[nodiscard]] bool charge(std::size_t bytes) override;
  void discharge(std::size_t bytes) override;
  /// Gives slabs without a live block back, the largest first, while more than `keep` bytes are held. Returns
  /// the bytes given back.
  std::size_t trim(std::size_t keep) override;
  void set_limit(std::size_t bytes) override { limit_ = bytes; }
  HeapStatistics statistics() const override { return {held_, used_, peak_, limit_, slabs(), blocks()}; }

  std::size_t limit() const { return limit_; }
  std::size_t held() const { return held_; }  ///< bytes of all slabs, and charged ones
  std::size_t used() const { return used_; }  ///< bytes of live blocks, and charged ones
  std::size_t peak() const { return peak_; }
  std::size_t slabs() const { return slabs_.size(); }
  std::size_t blocks() const { return live_.size(); }
  std::size_t bytes_of(void* address) const override { return live_.at(address)->second.bytes; }
  std::size_t largest_free() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  struct Block {
    std::size_t bytes;
    char* slab;  // blocks merge within one slab only
    bool free;
  };
  using Blocks = std::map<char*, Block>;

  bool add_slab(std::size_t bytes);
  void make_free(Blocks::iterator block);

  Source source_;
  std::size_t limit_;
  std::size_t held_ = 0, used_ = 0, peak_ = 0;
  std::map<char*, std::size_t> slabs_;
  Blocks blocks_;                                    // all, by address
  std::set<std::pair<std::size_t, char*>> by_size_;  // the free ones
  std::unordered_map<void*, Blocks::iterator> live_;
};

}  // namespace strata::inline STRATA_ABI::detail
