// SharedClaims: which part of a range a device does next, when devices of different speed share it. Pure
// logic: no thread, no device, no clock.
//
// Sizes are guided: a claim is half of what the device would do until the end if all went on as now, which is
// what is left over twice the workers, these counted in units of the device's own speed. So claims shrink
// towards the end, and no device is left with a large one there. A claim is never smaller than what the
// device does in its least time, since each costs a launch; a device whose least claim would end later than
// the others would be done without it takes none. Until a device has been measured it takes small parts,
// twice as large each time.
//
// Where: each device begins with a part of the range of its own (by weights or known speeds), from which it
// claims from the front, and then takes from the part in which most is left, at the end that is nearer to
// its own. So in most launches a device has one run of rows, and repeated launches find their rows where they
// were. Where a plan (share_plan.hpp) has said what a device does, and is sure of it, that is its first
// claim; a device that does not take part in the plan takes nothing until join_all().
//
// Not thread-safe: the owner locks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/sharing/device_cost.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

class SharedClaims {
 public:
  struct Worker {
    double least_seconds;       // of a claim
    double speed;               // items a second, besides the next; 0: not known yet
    double launch_seconds = 0;  // of a claim, whatever its size
    double sure = 0;            // how much of its home the first claim is; 0: as all claims
    bool takes_part = true;
    ResidentRows home{0, 0};  // where homes are given
  };
  /// Cuts are multiples of `align` of the index. With `in_nodes` they are cut between large nodes of the tree
  /// of a reduction over blocks of `align` items (core/reduction_tree.hpp), so that a part has few of them.
  /// Without weights the workers begin with parts by their speeds.
  SharedClaims(ResidentRows range, index_t align, bool in_nodes, const std::vector<double>& weights,
               std::vector<Worker> workers);
  /// The workers have their homes, which are the range, cut at multiples of unit().
  SharedClaims(ResidentRows range, index_t align, bool in_nodes, const std::vector<Worker>& workers);
  /// Of homes of so many workers.
  static index_t unit(ResidentRows range, index_t align, bool in_nodes, std::size_t workers);

  /// The next part of a worker; empty: it is to do nothing for now.
  ResidentRows take(std::size_t worker);
  /// A part that was taken is done, in this time; 0: not known.
  void ended(std::size_t worker, ResidentRows part, double seconds);
  /// It is not done, and others may take it.
  void give_back(std::size_t worker, ResidentRows part);
  /// The worker takes nothing any more.
  void retire(std::size_t worker);

  /// The worker has taken all.
  void take_all(std::size_t worker);
  /// So many rows that one has taken are another's.
  void pass(std::size_t from, std::size_t to, index_t rows);

  /// Workers that did not take part do.
  void join_all();

  /// Whether there is anything to take.
  bool has_open() const { return num_open() > 0; }
  /// Whether all is done.
  bool is_over() const { return num_done_ == range_.end - range_.begin; }
  bool is_retired(std::size_t worker) const { return workers_[worker].is_retired; }
  /// Items a second, by what was measured; 0: not known.
  double speed(std::size_t worker) const {
    const State& w = workers_[worker];
    return w.recent > 0 ? w.recent : w.speed;
  }
  /// Seconds that the worker needs for what it has taken; 0: not known.
  double backlog(std::size_t worker) const;
  /// What nobody has done or is doing, as runs in order.
  std::vector<ResidentRows> open() const;

 private:
  struct State : Worker {
    index_t num_taken = 0;  // items, not ended
    index_t largest = 0;    // part measured
    double recent = 0;      // items a second, all in all, of late; 0: not measured
    DeviceCost seen;        // in this launch
    int claims = 0;
    bool is_retired = false;
    bool counts() const { return takes_part && !is_retired; }
  };
  index_t num_open() const { return range_.end - range_.begin - num_done_ - num_taken_; }
  static double seconds(const State& worker, double items);
  static double rate(const State& worker, double items);
  double rate_of_all(double items) const;
  index_t size_for(const State& worker) const;
  bool is_late(const State& worker, index_t size) const;
  bool is_kept(const State& owner) const;
  double least_of(const State& worker) const;
  index_t grain(index_t size) const;
  ResidentRows cut_front(ResidentRows& from, index_t size) const;
  ResidentRows cut_back(ResidentRows& from, index_t size) const;
  ResidentRows cut(std::size_t worker, index_t size);

  ResidentRows range_;
  index_t align_;
  bool in_nodes_;
  std::vector<State> workers_;
  std::vector<ResidentRows> returned_;
  index_t num_done_ = 0, num_taken_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
