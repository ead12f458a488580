// The coherence protocol of the paper, for comparison: copies of exact ranges.
//
// The host has the main copy of an array, with one flag for all of it. Each device has copies of the boxes
// that were asked for, found again by the same box only, each with flags `valid` and `modified`: Dastgeer and
// Kessler, IJPP 44 (2016), figure 5 and algorithms 1 and 2, with these corrections: ranges are half-open, a
// source's own bounds limit what is taken from it, equality counts as cover, flags change with the commit and
// not while a plan is made, the host's flag is recomputed after a write. Which of several sources is copied
// from is not said there: here the one with the largest overlap. Nothing is ever freed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/views/coherent/plan/copy_planner.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The copies of one array, of number `array`. Boxes given lie in the domain.
class ExactCopies {
 public:
  struct Copy {
    MemoryId memory;
    Box box;
    bool valid = false;
    bool modified = false;
  };
  struct State {
    bool main_valid = true;
    std::vector<Copy> copies;
  };
  /// What an access needs: copies, each after the one before, memory for a new box, and the flags then.
  struct Plan {
    std::vector<PlannedCopy> copies;
    bool allocates = false;
    State after;
  };

  ExactCopies(int array, const Box& domain, const MemoryLinks& links);

  /// `memory`, a device's, accesses `box`: plans as algorithms 1 (fill) and 2 (write) say.
  Plan device(MemoryId memory, const Box& box, AccessMode use) const;
  /// The host accesses `box`.
  Plan host(const Box& box, AccessMode use) const;
  /// The copies of the plan, made for the present state, were enqueued.
  void commit(Plan plan) { state_ = std::move(plan.after); }

  const State& state() const { return state_; }

 private:
  void fill(Plan& plan, std::size_t copy) const;
  void claim(Plan& plan, std::size_t copy) const;
  void add(Plan& plan, const Box& box, MemoryId from, MemoryId to) const;

  int array_;
  Box domain_;
  const MemoryLinks* links_;
  State state_;
};

}  // namespace strata::inline STRATA_ABI::detail
