// StreamRun: a streamed launch on one device, from its plan to its report. A handle, as launches are
// templates: its parts, each with one task, stay in source files.
//
//   StreamJob        device, arrays, problem and plan
//   StreamTiles      the tiles of the plan and the events after their stages
//   StreamQueues     a queue for each stage
//   StreamBuffers    memory of the device
//   StreamCopies     copies to the device, within it, and back
//   StreamFiles      transfers of arrays in files
//   StreamMeasures   how long kernels take
//
// The run combines them: for each tile of each pass it enqueues upload, compute and download in this order,
// with the waits that the plan lists, some tiles ahead of the device. All decisions are in the plan
// (plan/stream_plan.hpp).
//
// One thread at a time. Nothing else uses the arrays during a run. After an error none of its work is still
// running.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/streaming/plan/stream_problem.hpp>
#include <strata/algorithms/streaming/stream_report.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail {
class CoherentState;
class DeviceInstance;
class QueueState;
}  // namespace strata::inline STRATA_ABI::detail

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamArrays;
class StreamGate;
struct StreamPlan;
class StreamSeams;

/// Completes a problem with the labels, rows, bytes and tiles of its arrays. Throws LayoutError where rows
/// are not contiguous, AccessConflict where an array is written and declared twice.
void complete_problem(StreamProblem& problem, const std::vector<Ref<CoherentState>>& arrays);

/// A launch of the kernel over some rows of a tile: for each array of the problem the address of its first
/// element, or where it would be (for a State of the old and the new values), and the rows that are there.
struct StreamSite {
  int step;  // of all steps, or loops of a sequence, from 0
  ResidentRows work;
  ResidentRows all;  // of the run; of a sequence those of its first loop
  struct Place {
    char* base[2];
    ResidentRows rows;
  };
  std::vector<Place> places;
  Ref<RefCounted>* kept;  // what launches keep for later ones of the run
};

class StreamRun : public RefCounted {
 public:
  /// Enqueues a kernel on the compute queue.
  using Launch = Function<void(const StreamSite&)>;

  /// `compute` is the queue on which launches are going to be enqueued. The arrays are those of the problem,
  /// in its order, and outlive this.
  StreamRun(DeviceInstance& device, QueueState& compute, StreamProblem problem,
            std::vector<Ref<CoherentState>> arrays);
  ~StreamRun() override;

  StreamProblem& problem();
  /// Of a sequence, between runs: other arrays, which are like those before. The first pass of a run reads
  /// array a from `sources[a]`, and all leave its values in `arrays[a]`; null: both are the same.
  void set_arrays(const std::vector<Ref<CoherentState>>& arrays,
                  const std::vector<Ref<CoherentState>>& sources);
  /// Makes the plan. Throws OutOfMemory where the budget is too small. A sequence may be planned and run
  /// repeatedly; its loop k is measured as `kernel` and its number.
  void plan(index_t budget, const StreamOptions& options, const std::string& kernel);
  /// Uses a plan that plan() has made of this problem and budget.
  void take(const StreamPlan& plan, index_t budget);
  /// Carries the plan out, waits for its end, and keeps the measured times. Throws what copies and kernels
  /// threw, with the state of the arrays.
  void run(const Launch& launch, bool progress);
  const StreamReport& report() const;
  const StreamPlan& plan() const;
  /// What was given for it.
  index_t budget() const;
  DeviceInstance& device() const;

  // The steps of run(), for several devices that share arrays.
  /// Makes buffers and queues. Throws OutOfMemory.
  void allocate();
  /// The arrays outlive the run.
  void prepare(const StreamArrays& arrays);
  /// This is run `number` of those that copy rows from each other, in the plan and in work(). After plan();
  /// `seams` must live until the end of work().
  void share(const StreamSeams& seams, std::size_t number);
  /// Before plan(): the device does not read and write files itself. Of several devices one would write next
  /// to rows that the host writes for another, and pages of the cache are larger than blocks (see
  /// FileStorage).
  void use_host_for_files();
  /// From any thread: does all the work, and returns when it is done. Passes begin when the gate opens, if
  /// there is one. Throws what copies and kernels threw, or StreamStopped, once none of its work is under
  /// way.
  void work(const Launch& launch, bool progress, StreamGate* gate);
  /// After work(), also where it threw: "slice 3 of 32".
  std::string progress_made() const;
  /// Labels of the arrays that are part old, part new after work() threw; `first_pass`: states are not, since
  /// only the first pass was begun.
  std::string changed_arrays(bool first_pass) const;
  int passes_begun() const;
  /// The side that has the results of states.
  int result_side() const;
  /// Keeps the measured times of the kernel.
  void learn();
  bool in_place() const;

 private:
  struct Parts;

  void restart();
  void do_tiles(const Launch& launch, bool progress, StreamGate* gate);
  void upload(long tile);
  void compute(long tile, const Launch& launch);
  void download(long tile);
  void meet(StreamGate& gate, bool pass_follows);

  const Ref<Parts> parts_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
