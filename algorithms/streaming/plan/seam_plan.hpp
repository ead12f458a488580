// SeamPlan: which rows the runs of several devices keep for each other, and who has what. Pure logic; what is
// done with it is in stream_seams.hpp, which has a picture.
#pragma once

#include <array>
#include <vector>

#include <strata/algorithms/streaming/plan/stream_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

/// All states have the same rows and parts.
class SeamPlan {
 public:
  struct Run {
    ResidentRows part;   // one after the other, none empty, all rows together
    ResidentRows reads;  // of a pass: around a ring they may lie beyond the ends
  };
  static constexpr int from_host = -1;
  /// Rows, and who has them: the host, or a run, among its first (0) or its last (1) ones.
  struct Source {
    int run;
    int end;
    ResidentRows rows;
  };

  /// Nobody keeps anything.
  SeamPlan() = default;
  /// `is_joined(j, k)`: copies may go from run j to run k. Asked only where k reads rows of j.
  SeamPlan(index_t rows, bool cyclic, const std::vector<Run>& runs,
           const Function<bool(std::size_t, std::size_t)>& is_joined);

  bool empty() const { return runs_.empty(); }
  /// The first and the last rows of its part that run k keeps; they do not overlap.
  const std::array<ResidentRows, 2>& kept(std::size_t k) const { return runs_[k].kept; }
  /// From where run k takes rows of the array, in their order.
  std::vector<Source> sources(std::size_t k, ResidentRows rows) const;
  /// Bytes that run k takes from others in a pass, of all states.
  index_t bytes_between(std::size_t k, const StreamProblem& problem, const StreamPass& pass) const;
  /// Bytes of all that run k keeps.
  index_t bytes_kept(std::size_t k, const StreamProblem& problem) const;

 private:
  struct Member {
    ResidentRows part;
    std::array<ResidentRows, 2> kept;
    std::vector<bool> takes_from;  // of all runs
  };
  std::vector<Member> runs_;  // none: nobody keeps anything
};

/// The rows of states that a pass of a part reads, by carry, overlap or naive.
ResidentRows rows_read(const StreamProblem& problem, StreamScheduler scheduler, int steps);

}  // namespace strata::inline STRATA_ABI::detail
