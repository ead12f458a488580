// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <strata/devices/emulated/heap.hpp>
#include <strata/devices/emulated/memory.hpp>
#include <strata/devices/emulated/pages.hpp>

#if defined(__SANITIZE_ADDRESS__)
#define STRATA_HEAP_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRATA_HEAP_ASAN 1
#endif
#endif
#if defined(STRATA_HEAP_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace strata::inline STRATA_ABI::detail {
namespace {

constexpr std::size_t alignment = EmulatedMemory::alignment;
// From this size on, the pages of a freed block go back to the system and become inaccessible, so that a
// kernel that still uses them faults. Two system calls are small against touching so many pages.
constexpr std::size_t release_bytes = std::size_t{256} << 10;

// AddressSanitizer watches what workers touch: bytes of the accessible mapping that belong to no block are
// poisoned when they are freed. Never the fresh memory of an instance: its shadow alone would be an eighth of
// the capacity. Nothing in other builds.
void forbid([[maybe_unused]] char* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(STRATA_HEAP_ASAN)
  __asan_poison_memory_region(begin, bytes);
#endif
}

void permit([[maybe_unused]] char* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(STRATA_HEAP_ASAN)
  // Only where something is poisoned, lest the shadow of a huge block become resident.
  constexpr std::size_t step = std::size_t{64} << 10, granule = 8;
  char* const end = begin + bytes;
  while (begin < end) {
    auto* poisoned = static_cast<char*>(__asan_region_is_poisoned(begin, std::size_t(end - begin)));
    if (poisoned == nullptr) return;
    poisoned -= reinterpret_cast<std::uintptr_t>(poisoned) % granule;
    const std::size_t length = std::min(step, std::size_t(end - poisoned));
    __asan_unpoison_memory_region(poisoned, length);
    begin = poisoned + length;
  }
#endif
}

}  // namespace

void EmulatedHeap::open(char* memory, int file, std::size_t file_offset, std::size_t capacity) {
  memory_ = memory;
  file_ = file;
  file_offset_ = file_offset;
  capacity_ = capacity;
  add_free(0, {round_up(capacity, page_bytes()), false});
}

void EmulatedHeap::close() { permit(memory_, high_water_); }

std::ptrdiff_t EmulatedHeap::allocate(std::size_t asked) {
  const std::lock_guard lock(mutex_);
  if (asked > capacity_) return -1;
  const std::size_t bytes = round_up(std::max<std::size_t>(asked, 1), alignment);
  if (used_ > capacity_ || bytes > capacity_ - used_) return -1;
  const auto best = by_size_.lower_bound({bytes, 0});
  if (best == by_size_.end()) return -1;
  const std::size_t offset = best->second;
  if (free_.at(offset).sealed && !unseal(offset, bytes)) return -1;
  const Free block = remove_free(offset);
  if (block.bytes > bytes) add_free(offset + bytes, {block.bytes - bytes, block.sealed});
  live_.emplace(offset, bytes);
  used_ += bytes;
  peak_ = std::max(peak_, used_.load());
  high_water_ = std::max(high_water_, offset + bytes);
  permit(memory_ + offset, bytes);
  forbid(memory_ + offset + asked, bytes - asked);
  return static_cast<std::ptrdiff_t>(offset);
}

bool EmulatedHeap::deallocate(std::size_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(offset);
  if (found == live_.end()) return false;
  Free merged{found->second, seal(offset, found->second)};
  used_ -= found->second;
  live_.erase(found);
  const auto absorb = [&](std::size_t neighbour) {
    const Free block = remove_free(neighbour);
    merged.bytes += block.bytes;
    merged.sealed = merged.sealed || block.sealed;
  };
  const auto next = free_.lower_bound(offset);
  const auto end = offset + merged.bytes;
  const bool joins_next = next != free_.end() && next->first == end;
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == offset) {
      offset = before->first;
      absorb(offset);
    }
  }
  if (joins_next) absorb(end);
  add_free(offset, merged);
  return true;
}

void EmulatedHeap::add_free(std::size_t offset, Free block) {
  free_.emplace(offset, block);
  by_size_.emplace(block.bytes, offset);
}

EmulatedHeap::Free EmulatedHeap::remove_free(std::size_t offset) {
  const auto found = free_.find(offset);
  const Free block = found->second;
  by_size_.erase({block.bytes, offset});
  free_.erase(found);
  return block;
}

// Takes the pages of a freed block away, if it is big; true if they became inaccessible. The bytes that share
// a page with a neighbour stay.
bool EmulatedHeap::seal(std::size_t offset, std::size_t bytes) {
  if (bytes < release_bytes) {
    forbid(memory_ + offset, bytes);
    return false;
  }
  const std::size_t begin = round_up(offset, page_bytes());
  const std::size_t end = round_down(offset + bytes, page_bytes());
  forbid(memory_ + offset, begin - offset);
  forbid(memory_ + end, offset + bytes - end);
  // Each call may fail (an old kernel, too many mappings); what is lost then is only thrift or diagnosis.
  if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(file_offset_ + begin),
                off_t(end - begin)) != 0)
    (void)madvise(memory_ + begin, end - begin, MADV_REMOVE);
  return mprotect(memory_ + begin, end - begin, PROT_NONE) == 0;
}

// Makes all pages under a block accessible. A page at an end may be a neighbour's as well: it is accessible
// already if that is live, and need not be inaccessible if that is free.
bool EmulatedHeap::unseal(std::size_t offset, std::size_t bytes) {
  const std::size_t begin = round_down(offset, page_bytes());
  const std::size_t end = round_up(offset + bytes, page_bytes());
  return mprotect(memory_ + begin, end - begin, PROT_READ | PROT_WRITE) == 0;
}

bool EmulatedHeap::holds(std::size_t offset) const {
  const std::lock_guard lock(mutex_);
  return live_.contains(offset);
}

bool EmulatedHeap::charge(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (used_ > capacity_ || bytes > capacity_ - used_) return false;
  used_ += bytes;
  peak_ = std::max(peak_, used_.load());
  return true;
}

void EmulatedHeap::discharge(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

void EmulatedHeap::set_capacity(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::size_t EmulatedHeap::capacity() const {
  const std::lock_guard lock(mutex_);
  return capacity_;
}

std::size_t EmulatedHeap::room() const {
  const std::size_t capacity = capacity_, used = used_;
  return capacity > used ? capacity - used : 0;
}

std::size_t EmulatedHeap::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::size_t EmulatedHeap::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

std::size_t EmulatedHeap::allocations() const {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

std::size_t EmulatedHeap::largest_free() const {
  const std::lock_guard lock(mutex_);
  return by_size_.empty() ? 0 : std::min(room(), by_size_.rbegin()->first);
}

}  // namespace strata::inline STRATA_ABI::detail
