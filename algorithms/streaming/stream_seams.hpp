// StreamSeams: rows of states that devices which share an iteration copy from each other instead of from the
// host.
//
// The parts of the devices meet at seams. A pass of t steps with halo h reads t h rows beyond a seam, as the
// previous pass left them on the neighbour. So a pass copies the first and the last rows of its part, which
// others are going to read, to the host and also keeps them on its device. In the next pass the others copy
// them from there.
//
//     device 0   ... own rows [ last rows ]|                            the last t h rows, read by device 1
//     device 1                             |[ first rows ] own rows ... the first t h rows, read by device 0
//
// There are two copies of them, used alternately: a pass writes one, while neighbours still read the other,
// which the previous pass wrote. The first pass reads everything from the host, and the last one keeps
// nothing.
//
// Waits: passes of all devices begin together, when each of them has waited on the host for all that its own
// queues did in the pass before (StreamRun::meet). So rows that a pass keeps are complete before others read
// them, and have been read before they are overwritten, two passes later; no queue waits for one of another
// device. A device that fails does not arrive at the gate, so no one reads rows that it did not keep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/streaming/plan/seam_plan.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// The memory for the rows that a SeamPlan keeps, on the devices of the runs. Shared by the threads of the
/// runs, which only read this object.
class StreamSeams : public RefCounted {
 public:
  /// For an iteration of `passes` passes; `problem` must be complete.
  StreamSeams(SeamPlan plan, const StreamProblem& problem, int passes);

  const SeamPlan& plan() const { return plan_; }
  /// Bytes of the memory of run k's device.
  index_t bytes(std::size_t k) const;
  /// Throws OutOfMemory. The instance outlives this.
  void allocate(std::size_t k, DeviceInstance& device, const std::vector<Ref<CoherentState>>& states);
  /// The rows of state `a` that pass `pass` keeps on the device of run k, as the side of a copy: of its first
  /// (`end` 0) or last (1) rows those that `layout` describes.
  CopySide side(std::size_t k, int end, int pass, std::size_t a, const LayoutDescriptor& layout) const;

 private:
  struct Block {
    AllocationRef memory;
    char* base = nullptr;  // where row 0 of the array would be
  };
  struct Place {
    DeviceInstance* device = nullptr;
    std::vector<Block> blocks;  // by array, turn and end
  };
  std::size_t number(std::size_t a, int turn, int end) const {
    return (a * 2 + static_cast<std::size_t>(turn)) * 2 + static_cast<std::size_t>(end);
  }

  SeamPlan plan_;
  const StreamProblem& problem_;
  int turns_;  // a single one where only one pass keeps rows
  std::vector<Place> places_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
