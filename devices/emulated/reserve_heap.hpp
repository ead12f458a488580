// The reserved memory of one instance of `Emulated`: addresses for arrays, parts of which get pages of the
// machine when they are committed.
//
// Pages without a committed byte are inaccessible to workers too. The bytes are accounted by the instance's
// EmulatedHeap, as those of its blocks. Every member function but open() may be called from any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedHeap;

class EmulatedReserveHeap {
 public:
  /// Begins with `bytes` free bytes, a multiple of the page size, inaccessible at `memory` in the mapping of
  /// the workers, and at `file_offset` in `file`. `accounts` says how many may be committed. Nothing is
  /// owned.
  void open(char* memory, int file, std::size_t file_offset, std::size_t bytes, EmulatedHeap& accounts);

  /// The offset of addresses for `bytes` bytes, at the begin of a page; -1 if no room is left.
  [[nodiscard]] std::ptrdiff_t reserve(std::size_t bytes);
  /// Gives addresses and pages back; false if nothing was reserved at `offset`.
  bool release(std::size_t offset);
  bool holds(std::size_t offset) const;

  /// Makes bytes [begin, end) of what was reserved at `offset` accessible, rounded outwards to
  /// EmulatedMemory::alignment. False, with nothing changed, if the capacity does not suffice, or the system
  /// refuses.
  bool commit(std::size_t offset, std::size_t begin, std::size_t end);
  /// Makes all bytes accessible, each that of `period` bytes before it; a multiple of granule(). False, with
  /// nothing changed, as commit() does, or where something was committed before.
  bool commit_repeating(std::size_t offset, std::size_t period);
  /// Bytes of a page.
  static std::size_t granule();
  /// The bytes that commit() would add to those committed.
  std::size_t missing(std::size_t offset, std::size_t begin, std::size_t end) const;
  /// Bytes committed of what was reserved at `offset`.
  std::size_t committed(std::size_t offset) const;
  std::size_t reservations() const;

 private:
  using Ranges = std::map<std::size_t, std::size_t>;  // begin to end; disjoint, and apart
  struct Reservation {
    std::size_t bytes = 0;      // of addresses
    std::size_t committed = 0;  // of `ranges`
    Ranges ranges;
    std::size_t period = 0;  // of what repeats
  };

  static std::size_t missing(const Ranges& ranges, std::size_t begin, std::size_t end);
  bool protect(std::size_t begin, std::size_t end, int protection) const;
  bool map(std::size_t begin, std::size_t end, std::size_t file_begin, int protection) const;

  mutable std::mutex mutex_;
  char* memory_ = nullptr;
  int file_ = -1;
  std::size_t file_offset_ = 0, bytes_ = 0;
  EmulatedHeap* accounts_ = nullptr;
  std::map<std::size_t, Reservation> live_;  // by offset
};

}  // namespace strata::inline STRATA_ABI::detail
