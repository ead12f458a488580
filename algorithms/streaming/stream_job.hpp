// StreamJob: the data of a run: device, arrays, problem and plan. The parts of a run
// (stream_run.cpp) share it; StreamRun alone changes it, between runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

struct StreamJob {
  DeviceInstance& device;
  QueueState& compute;                     // of kernels
  StreamProblem problem;                   // complete
  std::vector<Ref<CoherentState>> states;  // of the problem's arrays
  StreamPlan plan;
  index_t budget = 0;  // bytes of the device's memory that the plan may use
  // From which the first pass reads, where that is another array than the one to which results go; else null.
  std::vector<Ref<CoherentState>> sources = std::vector<Ref<CoherentState>>(states.size());

  bool is_state(std::size_t a) const { return problem.arrays[a].use == StreamArray::Use::State; }
  bool is_whole(std::size_t a) const { return problem.arrays[a].use == StreamArray::Use::Whole; }
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
