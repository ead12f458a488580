// Residency: which arrays have memory on a device, and which of them are evicted to make room. Pure logic: it
// says what to evict, and the caller writes back and frees.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The memory that arrays hold in one device's memory, under a budget. An array has one allocation there,
/// which grows; it is pinned while a call that works on it is being prepared or in flight, and is not given
/// up then.
class Residency {
 public:
  explicit Residency(index_t budget_bytes) : budget_(budget_bytes) {}

  struct Resident {
    int array;
    index_t bytes;
    int pins;
    long last_use;  // counts the uses of all arrays
  };

  index_t budget() const { return budget_; }
  /// One below the bytes that are held takes effect with the next growth.
  void set_budget(index_t bytes) { budget_ = bytes; }
  /// Held by all arrays, or one (0: not resident).
  index_t bytes() const { return bytes_; }
  index_t bytes(int array) const;

  /// The arrays to give up, in this order, so that `more` bytes fit: none that is pinned; those that are
  /// clean (is_clean(array): other memories have all that they hold) before those that must be written back,
  /// among them those that were not used for longest. False, and no array, where that is not enough.
  template <class IsClean>
  bool make_room(index_t more, const IsClean& is_clean, std::vector<int>& victims) const {
    std::vector<Candidate> candidates;
    if (bytes_ > budget_ - more)
      for (const Resident& r : arrays_)
        if (r.pins == 0 && r.bytes > 0)
          candidates.push_back({r.array, r.bytes, r.last_use, is_clean(r.array)});
    return choose(more, candidates, victims);
  }

  /// `array` holds `more` bytes more than before; it counts as used.
  void grown(int array, index_t more);
  /// It gave all of its memory up; pins stay.
  void dropped(int array);
  void used(int array);
  /// Pins count: unpin() as often as pin(). An array without memory may be pinned, too.
  void pin(int array);
  void unpin(int array);

  /// The arrays with the most memory first: for the error that says why there is no room.
  std::vector<Resident> residents() const;

 private:
  struct Candidate {
    int array;
    index_t bytes;
    long last_use;
    bool is_clean;
  };
  bool choose(index_t more, std::vector<Candidate>& candidates, std::vector<int>& victims) const;
  Resident& of(int array);

  index_t budget_;
  index_t bytes_ = 0;
  long uses_ = 0;
  std::vector<Resident> arrays_;  // by number; those without bytes are not resident
};

}  // namespace strata::inline STRATA_ABI::detail
