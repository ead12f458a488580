// The memories of the `Emulated` device: one memory file, mapped twice, cut into one heap an instance.
//
// Views hold addresses of the first mapping, which no thread may touch. The second mapping is where the bytes
// can be reached; workers get there by a thread-local offset (access.hpp), so an access from a thread that
// has none, or that of another instance, faults and is explained by fault_handler.hpp.
//
//     one reservation of (N*N + 1) spans S, here for N = 3 instances; S = capacity + reserve + guards
//
//     | v0 | v1 | v2 | w0 |  . |  . | w1 |  . |  . | w2 |    v: views hold, w: workers use, .: hole
//     base           base + N*S                                w(i) = base + N*S + i*N*S
//
// A span holds the instance's blocks and, after a guard, addresses for arrays, parts of which get memory as
// they are needed (reserve_heap.hpp).
//
// A worker of i adds w(i) - v(i). On an address of v(j) that gives the span i*N + (j - i) after base + N*S,
// which is a w only where N divides j - i, that is where j = i; all others are holes.
//
// Capacity is accounted, pages are not reserved: the file is sparse, and the pages of a freed big block go
// back to the system. New memory holds whatever it held before.
//
// Thread safety: every member function may be called from any thread. Lifetime: nothing may be allocated, and
// no worker may run, when an EmulatedMemory ends. Freeing takes effect at once: wait for the work on the
// memory first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedHeap;
class EmulatedReserveHeap;

/// Where the two mappings of every instance lie: pure arithmetic, safe in a signal handler.
struct EmulatedRegion {
  std::uintptr_t base = 0;
  std::size_t span = 0;  // S, a multiple of the page size
  int count = 0;         // N

  /// The first address that views on `instance` may hold.
  std::uintptr_t view_base(int instance) const { return base + std::size_t(instance) * span; }
  /// The address at which a worker of `instance` finds what views hold at view_base(instance).
  std::uintptr_t work_base(int instance) const {
    return base + (1 + std::size_t(instance)) * std::size_t(count) * span;
  }
  /// The offset that a worker of `instance` adds to an address that a view holds.
  std::ptrdiff_t offset(int instance) const {
    return static_cast<std::ptrdiff_t>(work_base(instance) - view_base(instance));
  }
  /// Bytes of the whole reservation.
  std::size_t size() const { return (std::size_t(count) * std::size_t(count) + 1) * span; }
  bool contains(std::uintptr_t address) const { return address - base < size(); }
  /// The instance whose views may hold `address`; -1 if none.
  int viewed_by(std::uintptr_t address) const;
  /// The instance whose workers reach memory at `address`; -1 if none.
  int worked_by(std::uintptr_t address) const;
};

/// The memories of all instances of `Emulated`; see the head of this file.
class EmulatedMemory {
 public:
  /// Addresses that allocate() returns are multiples of this many bytes, and so are the bytes it accounts.
  static constexpr std::size_t alignment = 256;

  /// Reserves addresses for `count` instances (1 to 64) of at most `capacity` bytes each, and twice as many
  /// for reserve(), if the system has them and allows files that large (ulimit -f). Throws SettingError for
  /// other arguments, OutOfMemory, naming the limit, if the system refuses the addresses or the memory file.
  EmulatedMemory(std::size_t capacity, int count);
  ~EmulatedMemory();
  EmulatedMemory(const EmulatedMemory&) = delete;
  EmulatedMemory& operator=(const EmulatedMemory&) = delete;

  /// Bytes for a view on `instance`, at least one unit of `alignment`. Null if the capacity, or the largest
  /// free block, is too small; the caller knows label and shape and words the error.
  [[nodiscard]] void* allocate(int instance, std::size_t bytes);
  /// Addresses for a view of `bytes` bytes on `instance`, of which none has memory; null if there are none
  /// left.
  [[nodiscard]] void* reserve(int instance, std::size_t bytes);
  /// Gives memory to bytes [begin, end) of what reserve(instance, ...) returned, rounded outwards to
  /// `alignment`: accounted as that of blocks. False, with nothing changed, if there is not enough.
  [[nodiscard]] bool commit(int instance, void* address, std::size_t begin, std::size_t end);
  /// Gives memory to the first `period` bytes of what reserve(instance, ...) returned, a multiple of
  /// repeat_granule(), and maps the same memory to the bytes after them, repeatedly. False, with nothing
  /// changed, if there is not enough, or some byte has memory.
  [[nodiscard]] bool commit_repeating(int instance, void* address, std::size_t period);
  /// 0 where there are no addresses for reserve().
  std::size_t repeat_granule() const;
  /// The bytes that commit() with the same arguments would have to find.
  std::size_t missing(int instance, const void* address, std::size_t begin, std::size_t end) const;
  /// Bytes that have memory of what reserve(instance, ...) returned.
  std::size_t committed(int instance, const void* address) const;
  /// Gives back what allocate(instance, ...) or reserve(instance, ...) returned, and strikes it off the fault
  /// handler's list of labels. Null does nothing. Throws Error, and does nothing else, if `address` is not
  /// allocated there.
  void deallocate(int instance, void* address);

  /// Lowers or raises the bytes that may be allocated on `instance`, at most the capacity given at
  /// construction. Below used(instance), nothing is lost, and allocations fail until enough is freed.
  void set_capacity(int instance, std::size_t bytes);

  int count() const { return region_.count; }
  std::size_t capacity(int instance) const;  ///< bytes that may be allocated
  std::size_t used(int instance) const;      ///< bytes allocated now
  /// Bytes of the capacity that are not allocated; safe in a signal handler for an instance that exists.
  std::size_t room(int instance) const;
  std::size_t peak(int instance) const;         ///< the most bytes allocated at once
  std::size_t allocations(int instance) const;  ///< blocks allocated now, and reservations
  /// The largest block that would fit, in bytes: less than capacity - used where freed blocks lie apart.
  std::size_t largest_free(int instance) const;
  /// Bytes of the machine's memory that all instances occupy now.
  std::size_t resident() const;

  /// The offset that a worker of `instance` adds to the addresses that views hold, for `emulated_offset` and
  /// for copy engines.
  std::ptrdiff_t offset(int instance) const { return region_.offset(instance); }
  /// The instance whose memory `address` belongs to, in either mapping; -1 if none.
  int instance_of(const void* address) const;
  const EmulatedRegion& region() const { return region_; }

  /// Fills `bytes` at `address`, which a view holds, with `pattern`; for checked builds and tests.
  void poison(void* address, std::size_t bytes, unsigned char pattern);

 private:
  EmulatedHeap& heap(int instance) const;
  EmulatedReserveHeap& reserve_heap(int instance) const;
  void reserve_addresses(std::size_t heap_bytes, int count);
  bool map(int instance) const;
  // From the begin of an instance's span to its reserve, and what lies between `address` and that.
  std::size_t reserve_begin() const;
  std::size_t reserve_offset(int instance, const void* address) const;
  std::size_t file_begin(int instance) const {
    return std::size_t(instance) * (heap_bytes_ + reserve_bytes_);
  }

  EmulatedRegion region_;
  std::size_t heap_bytes_ = 0, reserve_bytes_ = 0;  // of each instance
  int file_ = -1;
  std::unique_ptr<EmulatedReserveHeap[]> reserve_heaps_;
  std::unique_ptr<EmulatedHeap[]> heaps_;
};

/// Makes the calling thread a worker of `instance` while it lives; restores the former state.
class EmulatedWorkerScope {
 public:
  EmulatedWorkerScope(const EmulatedMemory& memory, int instance);
  ~EmulatedWorkerScope();
  EmulatedWorkerScope(const EmulatedWorkerScope&) = delete;
  EmulatedWorkerScope& operator=(const EmulatedWorkerScope&) = delete;

 private:
  std::ptrdiff_t before_;
};

}  // namespace strata::inline STRATA_ABI::detail
