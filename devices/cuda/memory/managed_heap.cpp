// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/devices/cuda/memory/managed_heap.hpp>

namespace strata::inline STRATA_ABI::detail {

std::size_t managed_memory_left(const CardMemory& card) {
  const auto less = [](std::size_t a, std::size_t b) { return a > b ? a - b : 0; };
  // Managed pages may be on the card, so that they are missing in free_now, or not: what is certainly left is
  // free_now without all of them. By Strata's own books more may be left, but never more than is free now.
  const std::size_t by_books = less(card.free_at_start, card.device_held + card.managed);
  return std::max(less(card.free_now, card.managed), std::min(card.free_now, by_books));
}

std::size_t ManagedHeap::taken_by(std::size_t bytes) {
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  const std::size_t runs = wanted / managed_run + (wanted % managed_run != 0);
  return runs > static_cast<std::size_t>(-1) / managed_run ? 0 : runs * managed_run;
}

void* ManagedHeap::allocate(std::size_t bytes) {
  const std::size_t taken = taken_by(bytes);
  if (taken == 0) return nullptr;
  if (bytes < managed_run) return small_.allocate(taken);
  void* const block = source_.take(source_.context, taken);
  if (block == nullptr) return nullptr;
  large_.emplace(block, taken);
  large_bytes_ += taken;
  return block;
}

void ManagedHeap::release(void* address) {
  const auto large = large_.find(address);
  if (large == large_.end()) {
    small_.release(address);
    // One slab may stay without an array, so that programs which create and drop small arrays allocate once.
    small_.trim(small_.used() + SlabHeap::slab_bytes);
    return;
  }
  const std::size_t bytes = large->second;
  large_.erase(large);
  large_bytes_ -= bytes;
  source_.give(source_.context, address, bytes);
}

}  // namespace strata::inline STRATA_ABI::detail
