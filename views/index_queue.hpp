// IndexQueue: a bounded queue of numbers into which any thread of the host and of the devices may push, and
// from which any may pop, at the same time.
//
//   const CoherentArray<std::int64_t, rank<1>> words("queue", IndexQueue::words(1024), MemoryMode::Managed);
//   const IndexQueue queue(system_atomics(words, Cuda{0}));
//   if (!queue.try_push(i)) ...                  // full
//   for (index_t i; queue.try_pop(i);) ...       // until it is empty
//
// After D. Vyukov's bounded queue: a cell has a number that says whose turn it is; a thread that gets a place
// at either end by compare-exchange has the cell to itself. Numbers pushed by one thread are popped in their
// order. What a thread wrote before a push is visible to the thread that pops the number. Nobody waits: a
// call returns false where the queue is full (empty), or where another thread is about to free (fill) the
// next cell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/assert.hpp>
#include <strata/core/config.hpp>
#include <strata/views/system_atomics.hpp>

namespace strata::inline STRATA_ABI {

/// A handle, which kernels copy; the array of its words must outlive it.
class IndexQueue {
  // Both ends and the cells are on cache lines of their own.
  static constexpr index_t line = 16;

 public:
  /// The elements of an array for a queue of `capacity` numbers. They are zero at first: an empty queue.
  static constexpr index_t words(index_t capacity) { return 2 * line + 2 * capacity; }

  /// Of words(capacity) elements, capacity >= 1.
  STRATA_FUNCTION explicit IndexQueue(const SystemAtomics<std::int64_t>& words)
      : words_(words), capacity_((words.size() - 2 * line) / 2) {
    STRATA_ASSERT(capacity_ >= 1, "strata: IndexQueue needs the elements that words(capacity) says");
  }

  /// The numbers for which it has room.
  STRATA_FUNCTION index_t capacity() const { return capacity_; }

  /// Appends `value`; false if there is no room, or another thread is about to free the next cell.
  STRATA_FUNCTION bool try_push(index_t value) const {
    const Cell cell = claim(words_(0), 0);
    if (!cell.mine) return false;
    number_of(cell.index).store(value);
    turn_of(cell.index).store(2 * cell.lap + 1, order_release);
    return true;
  }
  /// Removes the first number; false if there is none, or another thread is about to store it.
  STRATA_FUNCTION bool try_pop(index_t& value) const {
    const Cell cell = claim(words_(line), 1);
    if (!cell.mine) return false;
    value = number_of(cell.index).load();
    turn_of(cell.index).store(2 * cell.lap + 2, order_release);
    return true;
  }

 private:
  struct Cell {
    index_t index, lap;
    bool mine;
  };
  using Word = SystemAtomicRef<std::int64_t>;

  STRATA_FUNCTION Word turn_of(index_t cell) const { return words_(2 * line + 2 * cell); }
  STRATA_FUNCTION Word number_of(index_t cell) const { return words_(2 * line + 2 * cell + 1); }

  // The next cell at an end, for a turn of `kind`: in lap k of the ring a cell is filled in turn 2k and
  // emptied in turn 2k + 1.
  STRATA_FUNCTION Cell claim(Word end, index_t kind) const {
    std::int64_t place = end.load();
    for (;;) {
      const index_t index = place % capacity_, lap = place / capacity_;
      const index_t turn = turn_of(index).load(order_acquire);
      if (turn < 2 * lap + kind) return {index, lap, false};
      if (turn > 2 * lap + kind) place = end.load();  // others were faster
      else if (end.compare_exchange(place, place + 1)) return {index, lap, true};
    }
  }

  SystemAtomics<std::int64_t> words_;
  index_t capacity_;
};

}  // namespace strata::inline STRATA_ABI
