// RecordedLoops: the loops of a sequence on one device, each bound to the addresses of its arrays, and the
// graphs in which they are recorded.
//
// A run is one CoherentCall with the uses of all its loops. Consecutive loops that are the same in each step
// are recorded as a graph, when they run for the second time; where these are all loops, a second graph has
// several steps. Graphs are recorded on a queue of their own, as others may use that of the place.
//
// Compiled once: the part that knows devices and kernels is in_core_sequence.hpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/sequence/declared_loops.hpp>
#include <strata/core/function.hpp>
#include <strata/devices/graph.hpp>
#include <strata/views/coherent/coherent_call.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

class RecordedLoops : public DeclaredLoops {
 public:
  /// Where and when a loop is launched.
  struct Site {
    QueueState& queue;
    std::vector<char*> bases;             // of each use: where the first element of the array is, or would be
    const ResidentRows* rows;             // of each use
    std::vector<UnwrittenBox> unwritten;  // what checked builds look at after the launch
    int step;                             // how often the loops have begun anew in this run
    int time;                             // how often this loop was done before in it
  };
  struct Loop : DeclaredLoops::Loop {
    bool differs = false;  // from step to step
    Function<void(const Site&)> launch;
    /// Of reductions with results for the host: prepare() allocates memory for `times` results, which may be
    /// 0; finish() copies them when all is done.
    Function<void(int times)> prepare;
    Function<void()> finish;
  };

  /// `device` and its `queue` must outlive this.
  RecordedLoops(DeviceInstance& device, QueueState& queue, const char* label);

  void add_loop(Loop&& loop);
  /// `count` loops, from the one after the last on.
  void run(int count);
  /// Forgets the graphs.
  void release();

 private:
  // The uses of a run that begins with loop `first` and has `count` loops, at most all: longer runs have the
  // same uses.
  struct RunUses {
    int first, count;
    std::vector<SequenceUse> uses;
    std::vector<int> use_of;  // of each array: one of its uses, or -1
  };
  struct Kept {
    int first, count;
    Ref<GraphState> graph;  // null until the loops run again
    bool has_no_room;       // for the graph on the device, while the arrays stay where they are
  };
  struct Run {
    int first, count;
  };

  const Loop& loop(int number) const { return loops_[static_cast<std::size_t>(number % cursor_.loops)]; }
  const RunUses& run_uses(int first, int count);
  void find_arrays(const CoherentCall& call, const RunUses& uses);
  int same_from(int first, int most) const;
  void launch_all(const Run& run);
  void launch_loop(const Run& run, int done, QueueState& queue) const;
  std::vector<UnwrittenBox> marked(const Loop& loop, const std::vector<char*>& bases,
                                   QueueState& queue) const;
  GraphState* graph_of(const Run& run, int done, int count);

  DeviceInstance& device_;
  QueueState& queue_;
  Ref<QueueState> recorder_;
  std::vector<Loop> loops_;
  std::vector<RunUses> uses_;
  std::vector<char*> bases_;  // of each array, when it was last used
  std::vector<Kept> graphs_;
};

}  // namespace strata::inline STRATA_ABI::detail::sequences
