// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/devices/cuda/memory/pool_heap.hpp>

namespace strata::inline STRATA_ABI::detail {

void* PoolHeap::allocate(std::size_t bytes) {
  const std::size_t wanted = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  if (wanted < bytes) return nullptr;
  if (limit_ != 0 && (wanted > limit_ || used_ > limit_ - wanted)) return nullptr;
  void* const address = source_.take(source_.context, wanted);
  if (address == nullptr) return nullptr;
  try {
    live_.emplace(address, wanted);
  } catch (...) {
    source_.give(source_.context, address);
    throw;
  }
  used_ += wanted;
  peak_ = std::max(peak_, used_);
  return address;
}

void PoolHeap::forget(void* address) {
  const auto live = live_.find(address);
  if (live == live_.end()) return;
  used_ -= live->second;
  live_.erase(live);
}

void PoolHeap::release(void* address) {
  if (!live_.contains(address)) return;
  forget(address);
  source_.give(source_.context, address);
}

bool PoolHeap::charge(std::size_t bytes) {
  if (limit_ != 0 && (used_ > limit_ || bytes > limit_ - used_)) return false;
  used_ += bytes;
  charged_ += bytes;
  peak_ = std::max(peak_, used_);
  return true;
}

void PoolHeap::discharge(std::size_t bytes) {
  used_ -= bytes;
  charged_ -= bytes;
}

std::size_t PoolHeap::trim(std::size_t keep) {
  const std::size_t before = held();
  if (before > keep) source_.trim(source_.context, keep);
  return before - std::min(before, held());
}

HeapStatistics PoolHeap::statistics() const {
  return {held() + charged_, used_, peak_, limit_, 0, live_.size()};
}

}  // namespace strata::inline STRATA_ABI::detail
