// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <strata/devices/emulated/heap.hpp>
#include <strata/devices/emulated/memory.hpp>
#include <strata/devices/emulated/pages.hpp>
#include <strata/devices/emulated/reserve_heap.hpp>

namespace strata::inline STRATA_ABI::detail {

void EmulatedReserveHeap::open(char* memory, int file, std::size_t file_offset, std::size_t bytes,
                               EmulatedHeap& accounts) {
  memory_ = memory;
  file_ = file;
  file_offset_ = file_offset;
  bytes_ = bytes;
  accounts_ = &accounts;
}

std::ptrdiff_t EmulatedReserveHeap::reserve(std::size_t asked) {
  const std::lock_guard lock(mutex_);
  if (asked > bytes_) return -1;
  const std::size_t bytes = round_up(std::max<std::size_t>(asked, 1), page_bytes());
  std::size_t offset = 0;
  auto next = live_.begin();
  for (; next != live_.end() && next->first - offset < bytes; ++next)
    offset = next->first + next->second.bytes;
  if (bytes_ - offset < bytes) return -1;
  live_.emplace_hint(next, offset, Reservation{bytes, 0, {}, 0});
  return static_cast<std::ptrdiff_t>(offset);
}

bool EmulatedReserveHeap::release(std::size_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(offset);
  if (found == live_.end()) return false;
  Reservation& reservation = found->second;
  if (reservation.period > 0 &&
      !map(offset + reservation.period, offset + reservation.bytes, offset + reservation.period, PROT_NONE)) {
    // Addresses that still are those of other bytes are never used again.
    accounts_->discharge(reservation.committed);
    reservation.committed = 0;
    return true;
  }
  // Each call may fail (an old kernel, too many mappings); what is lost then is only thrift or diagnosis.
  for (const auto& [begin, end] : reservation.ranges) {
    const std::size_t first = round_down(offset + begin, page_bytes());
    const std::size_t last = round_up(offset + end, page_bytes());
    if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(file_offset_ + first),
                  off_t(last - first)) != 0)
      (void)madvise(memory_ + first, last - first, MADV_REMOVE);
    (void)protect(first, last, PROT_NONE);
  }
  accounts_->discharge(reservation.committed);
  live_.erase(found);
  return true;
}

bool EmulatedReserveHeap::commit(std::size_t offset, std::size_t begin, std::size_t end) {
  begin = round_down(begin, EmulatedMemory::alignment);
  end = round_up(end, EmulatedMemory::alignment);
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(offset);
  if (found == live_.end() || end > found->second.bytes) return false;
  Reservation& reservation = found->second;
  const std::size_t added = missing(reservation.ranges, begin, end);
  if (added == 0) return true;
  // One range for all that it touches. Taken first: from then on nothing but the system can refuse.
  Ranges& ranges = reservation.ranges;
  const auto joined = ranges.try_emplace(begin, begin).first;
  const std::size_t before = joined->second;
  const auto undo = [&] {
    if (before == begin) ranges.erase(joined);
    return false;
  };
  if (!accounts_->charge(added)) return undo();
  if (!protect(round_down(offset + begin, page_bytes()), round_up(offset + end, page_bytes()),
               PROT_READ | PROT_WRITE)) {
    accounts_->discharge(added);
    return undo();
  }
  reservation.committed += added;
  auto range = joined;
  range->second = std::max(range->second, end);
  if (range != ranges.begin() && std::prev(range)->second >= range->first) {
    const auto left = std::prev(range);
    left->second = std::max(left->second, range->second);
    ranges.erase(range);
    range = left;
  }
  for (auto next = std::next(range); next != ranges.end() && next->first <= range->second;
       next = ranges.erase(next))
    range->second = std::max(range->second, next->second);
  return true;
}

std::size_t EmulatedReserveHeap::granule() { return page_bytes(); }

bool EmulatedReserveHeap::commit_repeating(std::size_t offset, std::size_t period) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(offset);
  if (found == live_.end() || period == 0 || period % page_bytes() != 0) return false;
  Reservation& reservation = found->second;
  if (!reservation.ranges.empty() || period > reservation.bytes || !accounts_->charge(period)) return false;
  const auto all = reservation.ranges.try_emplace(0, reservation.bytes).first;
  bool mapped = protect(offset, offset + period, PROT_READ | PROT_WRITE);
  for (std::size_t begin = period; begin < reservation.bytes && mapped; begin += period)
    mapped = map(offset + begin, offset + std::min(begin + period, reservation.bytes), offset,
                 PROT_READ | PROT_WRITE);
  if (!mapped) {
    (void)map(offset, offset + reservation.bytes, offset, PROT_NONE);
    reservation.ranges.erase(all);
    accounts_->discharge(period);
    return false;
  }
  reservation.committed = reservation.period = period;
  return true;
}

std::size_t EmulatedReserveHeap::missing(const Ranges& ranges, std::size_t begin, std::size_t end) {
  std::size_t bytes = end - begin;
  auto range = ranges.upper_bound(begin);
  if (range != ranges.begin()) --range;
  for (; range != ranges.end() && range->first < end; ++range) {
    const std::size_t first = std::max(begin, range->first), last = std::min(end, range->second);
    if (first < last) bytes -= last - first;
  }
  return bytes;
}

std::size_t EmulatedReserveHeap::missing(std::size_t offset, std::size_t begin, std::size_t end) const {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(offset);
  if (found == live_.end()) return 0;
  return missing(found->second.ranges, round_down(begin, EmulatedMemory::alignment),
                 round_up(end, EmulatedMemory::alignment));
}

std::size_t EmulatedReserveHeap::committed(std::size_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(offset);
  return found == live_.end() ? 0 : found->second.committed;
}

bool EmulatedReserveHeap::holds(std::size_t offset) const {
  const std::lock_guard lock(mutex_);
  return live_.contains(offset);
}

std::size_t EmulatedReserveHeap::reservations() const {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

bool EmulatedReserveHeap::protect(std::size_t begin, std::size_t end, int protection) const {
  return mprotect(memory_ + begin, end - begin, protection) == 0;
}

// Bytes [begin, end) become those of the file from `file_begin` on.
bool EmulatedReserveHeap::map(std::size_t begin, std::size_t end, std::size_t file_begin,
                              int protection) const {
  if (begin >= end) return true;
  return mmap(memory_ + begin, end - begin, protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_,
              off_t(file_offset_ + file_begin)) != MAP_FAILED;
}

}  // namespace strata::inline STRATA_ABI::detail
