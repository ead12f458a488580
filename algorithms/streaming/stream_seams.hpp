// StreamSeams: rows of states that devices which share an iteration take from each other instead of from the
// host.
//
// The parts of the devices meet at seams. A pass of t steps with halo h reads t h rows beyond a seam, as the
// pass before left them on the neighbour. So a pass copies the first and the last rows of its part, which
// others are going to read, not only to the host: it also keeps them on its device. In the next pass the
// others copy them from there.
//
//     device 0   ... own rows [ last rows ]|                            the last t h rows, read by device 1
//     device 1                             |[ first rows ] own rows ... the first t h rows, read by device 0
//
// There are two copies of them, used in turn: a pass writes one, while neighbours still read the other, which
// the pass before wrote. The first pass reads everything from the host, and the last one keeps nothing.
//
// Waits: passes of all devices begin together, when each of them has waited on the host for all that its own
// queues did in the pass before (StreamRun::meet). So what a pass keeps is complete before anybody reads it,
// and what it reads is read before it is overwritten, two passes later; no queue waits for one of
// another device. A device that fails does not come to the gate: nobody reads what it did not keep.
#pragma once

#include <vector>

#include <strata/algorithms/streaming/plan/seam_plan.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The memory for what a SeamPlan keeps, on the devices of the runs. Shared by the threads of the runs, which
/// only read it.
class StreamSeams : public RefCounted {
 public:
  /// `problem` is complete. Of an iteration of `passes` passes.
  StreamSeams(SeamPlan plan, const StreamProblem& problem, int passes);

  const SeamPlan& plan() const { return plan_; }
  /// Bytes of the memory of run k's device.
  index_t bytes(std::size_t k) const;
  /// Throws OutOfMemory. The instance outlives this.
  void allocate(std::size_t k, DeviceInstance& device, const std::vector<Ref<CoherentState>>& states);
  /// What pass `pass` keeps of state `a` on the device of run k: the side of a copy of these of its first (0)
  /// or last (1) rows, which `layout` describes.
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

}  // namespace strata::inline STRATA_ABI::detail
