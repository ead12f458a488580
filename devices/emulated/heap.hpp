// The heap of one instance of `Emulated`: which bytes of its memory are allocated, best fit with free
// neighbours merged, and which of its pages the machine has to provide.
//
// The book-keeping lies outside the memory it describes. Offsets count from the start of the instance's
// memory; memory.hpp turns them into addresses. Every member function but open() and
// close() may be called from any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedHeap {
 public:
  /// Begins with `capacity` free bytes, at `memory` in the accessible mapping, at `file_offset` in `file`.
  /// Neither is owned.
  void open(char* memory, int file, std::size_t file_offset, std::size_t capacity);
  /// Leaves no trace in the sanitizer's books, since the system may map something else at these addresses.
  void close();

  /// The offset of `bytes` bytes (rounded up to EmulatedMemory::alignment); -1 if no room is left.
  [[nodiscard]] std::ptrdiff_t allocate(std::size_t bytes);
  /// Frees the block at `offset`; false if there is none.
  bool deallocate(std::size_t offset);
  /// Whether a block begins at `offset`.
  bool holds(std::size_t offset) const;

  /// Counts bytes that lie elsewhere (reserve_heap.hpp) as used; false if the capacity does not suffice.
  [[nodiscard]] bool charge(std::size_t bytes);
  void discharge(std::size_t bytes);

  void set_capacity(std::size_t bytes);
  std::size_t capacity() const;
  /// Bytes of the capacity that are not used: what managed pages may take; safe in a signal handler.
  std::size_t room() const;
  std::size_t used() const;
  std::size_t peak() const;
  std::size_t allocations() const;
  std::size_t largest_free() const;

 private:
  struct Free {
    std::size_t bytes;
    bool sealed;  // pages wholly inside may be inaccessible
  };

  void add_free(std::size_t offset, Free block);
  Free remove_free(std::size_t offset);
  bool seal(std::size_t offset, std::size_t bytes);
  bool unseal(std::size_t offset, std::size_t bytes);

  mutable std::mutex mutex_;
  char* memory_ = nullptr;
  int file_ = -1;
  std::size_t file_offset_ = 0;
  std::atomic<std::size_t> capacity_ = 0, used_ = 0;  // changed under the mutex
  std::size_t peak_ = 0;
  std::size_t high_water_ = 0;                             // end of the highest block ever allocated
  std::map<std::size_t, Free> free_;                       // by offset
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // (bytes, offset) of the same blocks
  std::unordered_map<std::size_t, std::size_t> live_;      // offset to bytes
};

}  // namespace strata::inline STRATA_ABI::detail
