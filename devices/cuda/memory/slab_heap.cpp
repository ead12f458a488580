// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <vector>

#include <strata/devices/cuda/memory/slab_heap.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

SlabHeap::~SlabHeap() {
  for (const auto& [slab, bytes] : slabs_) source_.give(source_.context, slab, bytes);
}

void* SlabHeap::allocate(std::size_t bytes) {
  const std::size_t wanted = rounded(std::max<std::size_t>(bytes, 1), alignment);
  if (wanted < bytes) return nullptr;
  auto fit = by_size_.lower_bound({wanted, nullptr});
  if (fit == by_size_.end()) {
    if (!add_slab(wanted)) return nullptr;
    fit = by_size_.lower_bound({wanted, nullptr});
  }
  const Blocks::iterator block = blocks_.find(fit->second);
  by_size_.erase(fit);
  if (const std::size_t rest = block->second.bytes - wanted; rest > 0) {
    block->second.bytes = wanted;
    const auto next = blocks_.emplace(block->first + wanted, Block{rest, block->second.slab, true}).first;
    by_size_.emplace(rest, next->first);
  }
  block->second.free = false;
  live_.emplace(block->first, block);
  used_ += wanted;
  peak_ = std::max(peak_, used_);
  return block->first;
}

void SlabHeap::release(void* address) {
  const auto live = live_.find(address);
  if (live == live_.end()) return;
  const Blocks::iterator block = live->second;
  live_.erase(live);
  used_ -= block->second.bytes;
  make_free(block);
}

bool SlabHeap::charge(std::size_t bytes) {
  if (limit_ != 0 && (held_ > limit_ || bytes > limit_ - held_)) return false;
  held_ += bytes;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return true;
}

void SlabHeap::discharge(std::size_t bytes) {
  held_ -= bytes;
  used_ -= bytes;
}

void SlabHeap::make_free(Blocks::iterator block) {
  const auto merge = [&](Blocks::iterator first, Blocks::iterator second) {
    first->second.bytes += second->second.bytes;
    blocks_.erase(second);
    return first;
  };
  block->second.free = true;
  if (const auto next = std::next(block);
      next != blocks_.end() && next->second.free && next->second.slab == block->second.slab) {
    by_size_.erase({next->second.bytes, next->first});
    merge(block, next);
  }
  if (block != blocks_.begin())
    if (const auto before = std::prev(block);
        before->second.free && before->second.slab == block->second.slab) {
      by_size_.erase({before->second.bytes, before->first});
      block = merge(before, block);
    }
  by_size_.emplace(block->second.bytes, block->first);
}

bool SlabHeap::add_slab(std::size_t bytes) {
  const std::size_t needed = rounded(bytes, slab_unit);
  if (needed < bytes) return false;
  const std::size_t room = limit_ == 0 ? needed + slab_bytes : limit_ > held_ ? limit_ - held_ : 0;
  // A roomy slab serves many small blocks; where memory is short the block alone will do.
  for (const std::size_t size : {std::min(std::max(needed, slab_bytes), room), needed}) {
    if (size < needed || size > room) continue;
    char* const slab = static_cast<char*>(source_.take(source_.context, size));
    if (slab == nullptr) continue;
    slabs_.emplace(slab, size);
    held_ += size;
    make_free(blocks_.emplace(slab, Block{size, slab, false}).first);
    return true;
  }
  return false;
}

std::size_t SlabHeap::trim(std::size_t keep) {
  std::vector<std::pair<std::size_t, char*>> empty;
  for (const auto& [slab, bytes] : slabs_)
    if (const auto block = blocks_.find(slab); block->second.free && block->second.bytes == bytes)
      empty.emplace_back(bytes, slab);
  std::sort(empty.rbegin(), empty.rend());
  std::size_t given = 0;
  for (const auto& [bytes, slab] : empty) {
    if (held_ <= keep) break;
    by_size_.erase({bytes, slab});
    blocks_.erase(slab);
    slabs_.erase(slab);
    held_ -= bytes;
    given += bytes;
    source_.give(source_.context, slab, bytes);
  }
  return given;
}

}  // namespace strata::inline STRATA_ABI::detail
