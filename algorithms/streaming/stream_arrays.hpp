// StreamArrays: the host memory of the arrays of a streamed launch, during the launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/host_access.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// The arrays in host memory during a launch: the host has current values of all that is read, and only the
/// thread that made this uses the arrays. States that are not computed in place have a second copy. An array
/// with a source is read from there at first; its own values are those of the results alone.
class StreamArrays : public RefCounted {
 public:
  /// `problem` must be complete, and that of all the work. `sources`: of each array, or null; of arrays in
  /// rows that are read and written.
  StreamArrays(const StreamProblem& problem, const std::vector<Ref<CoherentState>>& arrays, bool in_place,
               const std::vector<Ref<CoherentState>>& sources = {});
  /// Where array `a` is: side 0 that of its source, if it has one; side 1 that of a state.
  char* host(std::size_t a, int side) const { return operands_[a].host[side]; }
  /// Ends a launch that did not fail: `side` has the results of states.
  void end(int side);

 private:
  struct Operand {
    Ref<CoherentState> state, source;
    HostUseScope use, use_of_source;
    char* host[2] = {};
    AllocationRef second;  // of side 1
  };
  static void find_memory(const StreamProblem& problem, const StreamArray& here, Operand& operand,
                          bool in_place);
  bool take(const StreamProblem& problem);

  std::vector<Operand> operands_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
