// SeamPlan: which rows the runs of several devices keep for each other, and where each row is. Pure logic;
// stream_seams.hpp uses it, and has a picture.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include <strata/algorithms/streaming/plan/stream_plan.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// All states have the same rows and parts.
class SeamPlan {
 public:
  struct Run {
    ResidentRows part;   // one after the other, none empty, all rows together
    ResidentRows reads;  // of a pass: around a ring they may lie beyond the ends
  };
  static constexpr int from_host = -1;
  /// Rows, and where they are: on the host, or kept by a run, among its first (0) or last (1) rows.
  struct Source {
    int run;
    int end;
    ResidentRows rows;
  };

  /// No run keeps rows.
  SeamPlan() = default;
  /// `is_joined(j, k)`: whether run k can copy from run j. Called only where k reads rows of j.
  SeamPlan(index_t rows, bool cyclic, const std::vector<Run>& runs,
           const Function<bool(std::size_t, std::size_t)>& is_joined);

  bool empty() const { return runs_.empty(); }
  /// The first and the last rows of its part that run k keeps; they do not overlap.
  const std::array<ResidentRows, 2>& kept(std::size_t k) const { return runs_[k].kept; }
  /// The sources of rows of the array for run k, in the order of the rows.
  std::vector<Source> sources(std::size_t k, ResidentRows rows) const;
  /// Bytes that run k copies from others in a pass, of all states.
  index_t bytes_between(std::size_t k, const StreamProblem& problem, const StreamPass& pass) const;
  /// Bytes of all that run k keeps.
  index_t bytes_kept(std::size_t k, const StreamProblem& problem) const;

 private:
  struct Member {
    ResidentRows part;
    std::array<ResidentRows, 2> kept;
    std::vector<bool> takes_from;  // of all runs
  };
  std::vector<Member> runs_;  // empty: no run keeps rows
};

/// The rows of states that a pass of a part reads, by carry, overlap or naive.
ResidentRows rows_read(const StreamProblem& problem, StreamScheduler scheduler, int steps);

}  // namespace strata::inline STRATA_ABI::detail::streaming
