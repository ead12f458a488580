// ManagedHeap: where the memory of managed arrays comes from: runs of 2 MiB of which each belongs to one
// array, as pages move, and are advised on, in such runs. Book-keeping only: the memory is never touched, and
// CUDA is behind a Source, so it can be tested anywhere. Not thread-safe: the owner locks.
//
// Arrays of a run and more have allocations of CUDA of their own, which are given back when they are freed:
// pages of a block that is kept are where its last user had them, and moving those costs the next one more
// than new ones. Of smaller arrays the allocation is what costs, and there may be many (a driver allows a
// process some 65,000 allocations), so theirs are cut from slabs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <unordered_map>

#include <strata/devices/cuda/memory/slab_heap.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The bytes that pages of managed memory move in at best, and the unit of what an array owns.
inline constexpr std::size_t managed_run = std::size_t{2} << 20;

/// What is known of a card's memory when managed memory is asked for. Bytes.
struct CardMemory {
  std::size_t free_at_start;  ///< before Strata took any
  std::size_t free_now;       ///< as the driver has it: pages of managed arrays on the card are not free
  std::size_t device_held;    ///< by Strata's arrays and slabs in device memory
  std::size_t managed;        ///< allocated by Strata, wherever its pages are
};
/// How many bytes of managed memory may still be allocated, so that all of it fits on the card at once.
std::size_t managed_memory_left(const CardMemory& card);

class ManagedHeap {
 public:
  /// `source` gives multiples of a run, at multiples of a run.
  explicit ManagedHeap(const SlabHeap::Source& source) : source_(source), small_(source) {}

  /// At least one byte; null where the source gives none.
  [[nodiscard]] void* allocate(std::size_t bytes);
  void release(void* address);
  /// Whether release() keeps the block's memory, for other arrays.
  bool keeps(void* address) const { return !large_.contains(address); }
  /// What an array of that size takes; 0 if it cannot be counted.
  static std::size_t taken_by(std::size_t bytes);
  /// Bytes that live arrays take.
  std::size_t used() const { return large_bytes_ + small_.used(); }
  /// Gives slabs without an array back; returns the bytes.
  std::size_t trim() { return small_.trim(small_.used()); }

 private:
  SlabHeap::Source source_;
  SlabHeap small_;
  std::unordered_map<void*, std::size_t> large_;
  std::size_t large_bytes_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
