// StreamGroup: the runs of the devices that share a streamed launch; one run for one device.
//
// Each device streams its part of the rows through its own memory, at the same time; the budget is that of
// each. Results have the bits of one device. Of several, each has a host thread while the launch lasts, on
// which kernels of hosts run; the calling thread is one of them.
//
// Map: rows that two parts would write are an AccessConflict; arrays that are on the devices as a whole may
// be read only. Reduce: parts are whole nodes of the tree of reductions, joined on the host. Scan: device
// after device, each with the total of those before, so that it takes as long as one.
//
// Iterate: all devices make the same steps a pass, by carry, overlap or naive, from one copy of the states on
// the host to another (so that the host holds them twice), and begin a pass when the one before has come back
// everywhere: each pass fills and drains the pipeline of slices. A seam between two parts costs a pass of t
// steps with halo h, besides what one device copies and computes:
//
//     2 t h rows of states to devices, t h of them from either side
//     t (t - 1) h updates of rows, which both devices make
//
// From the second pass on these rows go from device to device, where the devices have a direct way
// (stream_seams.hpp): each keeps the 2 t h rows at the two ends of its part, twice, within the budget (once
// where there are two passes). They come from the host in the first pass, without such a way, for devices of
// the host, and where the budget has no room for them or would allow only much smaller slices: for parts of R
// rows, they are 2 t h / R of the bytes copied in. Carry counts h in its lags, whole tiles of layouts. The
// model assumes that all rows come from the host. States in files are for one device; other arrays in files
// are not.
//
// Errors are those of streamed.hpp. Where one device fails the others stop before the next pass, and the
// launch throws the first error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/reduction_groups.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// The runs of the devices that share a launch.
class StreamGroup {
 public:
  using Launch = StreamRun::Launch;

  /// `problem` is that of all work. Errors are those of StreamRun, and of arrays that several devices cannot
  /// share.
  StreamGroup(StreamProblem problem, std::vector<Ref<CoherentState>> arrays);
  ~StreamGroup();
  /// The rows to split: work items, or the rows of states.
  ResidentRows rows() const;
  /// The parts of `devices` devices, some of which may be empty, but not all of them are if there are rows.
  std::vector<ResidentRows> split(std::size_t devices, const std::vector<double>& weights) const;
  /// A device that has a part.
  void add(DeviceInstance& device, QueueState& compute, ResidentRows part);

  std::size_t size() const { return runs_.size(); }
  StreamRun& run(std::size_t k) { return *runs_[k]; }
  const StreamProblem& problem() const { return problem_; }
  /// Plans all runs, with as many steps a pass; of run k `reserved[k]` bytes of the budget are for others.
  void plan(index_t budget, const StreamOptions& options, const std::string& kernel,
            const std::vector<index_t>& reserved = {});
  /// Runs all at the same time, and waits for them. The threads of the runs call `launches`.
  void carry_out(const std::vector<Launch>& launches, bool progress);
  StreamReport report() const;

 private:
  struct Choice {
    StreamOptions options;
    bool with_seams = false;
    double seconds = 0;
  };
  Ref<StreamSeams> seams_for(const StreamOptions& one) const;
  bool takes_little(const StreamSeams& seams, index_t budget) const;
  bool take(Choice& choice, index_t budget, const std::string& kernel);
  bool choose(const StreamOptions& options, index_t budget, const std::string& kernel, Choice& choice);
  void plan_steps(index_t budget, const StreamOptions& options, const std::string& kernel);
  void check_writes() const;
  [[noreturn]] void fail(const StreamGate& gate) const;

  StreamProblem problem_;
  std::vector<Ref<CoherentState>> states_;
  Ref<StreamArrays> arrays_;
  std::vector<Ref<StreamRun>> runs_;
  std::vector<ResidentRows> parts_;
  Ref<StreamSeams> seams_;  // none: all rows come from the host
  double seconds_ = 0;
};

/// The nodes that the slices of all runs have, in order, and where those of each run begin; ends with their
/// number.
std::vector<ReductionGroup> stream_groups(StreamGroup& group, index_t block, std::vector<std::size_t>& first);
/// Adds the report of one more device, which ran after the others.
void add_report(StreamReport& all, const StreamReport& one);

// The parts of a place that have any of `split`, or the first one where there is nothing to do.
std::vector<std::size_t> parts_with_rows(const std::vector<ResidentRows>& split);
template <class Where>
std::vector<ResidentRows> split_of(const StreamGroup& group, const Where& where) {
  return group.split(PlaceTraits<Where>::count(where), weights_asked_for(where));
}
// Adds the devices of `where` that have a part; returns the numbers of their parts.
template <class Where>
std::vector<std::size_t> add_runs(StreamGroup& group, const Where& where) {
  const std::vector<ResidentRows> split = split_of(group, where);
  const std::vector<std::size_t> parts = parts_with_rows(split);
  for (const std::size_t k : parts)
    visit_part(where, k, [&](const auto& on) { group.add(on.device.backend(), queue_of(on), split[k]); });
  return parts;
}
// Plans the runs and carries them out; the thread of a part calls launch_on(part, on). Returns the report.
template <class Where, class F>
StreamReport stream(StreamGroup& group, const Where& place, const std::string& kernel, const F& launch_on) {
  const std::vector<std::size_t> parts = add_runs(group, place.where);
  group.plan(place.budget, place.options, kernel);
  if (place.only_plan) return group.report();
  std::vector<StreamGroup::Launch> launches;
  for (const std::size_t k : parts)
    visit_part(place.where, k, [&](const auto& on) { launches.push_back(launch_on(on)); });
  group.carry_out(launches, place.progress);
  return group.report();
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
