// ClaimingRun: carries out a shared launch whose kernels claim for themselves (claiming_launch.hpp): enqueues
// them, works as hosts beside them, and reports to the ledger what is done and what is not.
//
// Threads: the calling one enqueues kernels, works as the first host, and waits for the devices. Each other
// host has a thread of its own.
//
// Failures: where the others have done all, that is all. Else which rows a kernel that failed had claimed is
// not known, only those that hosts have done. So all others count as not done: where nothing is read that
// they write, they are done again, by the devices that are left; else their values are lost.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <vector>

#include <strata/algorithms/sharing/launch_history.hpp>
#include <strata/algorithms/sharing/share_plan.hpp>
#include <strata/algorithms/sharing/shared_ledger.hpp>
#include <strata/algorithms/sharing/shared_run.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

class ClaimingRun {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether the launch is one of which kernels are to claim, and can: by its options, by a plan with a
  /// device that takes part in it with others, or whose speed is not known, and by memory that all reach at
  /// once.
  static bool is_possible(const SharedWork& work, const SharePlan& plan);

  ClaimingRun(const SharedWork& work, const SharePlan& plan, const LaunchRecord& record, SharedLedger& ledger,
              Clock::time_point begin);
  /// Whether kernels were enqueued on all devices. Otherwise those that were have ended, the arrays have it
  /// as a failed launch, and all is to be done again. Afterwards the ledger has what is left.
  bool run();

 private:
  struct Part {
    ResidentRows rows;
    double end, seconds;
  };
  struct Host {
    std::size_t number;  // of the work's devices
    std::vector<Part> done = {};
    index_t left = 0;  // units, at `seen`
    double seen = 0;
    double speed = 0, others = 0;  // units a second; 0: not known
    bool is_foretold = false;      // by the record, not by what was seen of this launch
    int claims = 0;
    index_t units = 0;  // done
  };
  /// Of a kernel, when it has ended.
  struct Landed {
    std::exception_ptr error = {};
    bool is_done = false, has_begun = false;
    double end = 0;
    std::uint64_t tally = 0;
  };

  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  double speed_of(std::size_t k) const;
  void find_devices();
  bool enqueue();
  void wait_for_queues() const;
  bool may_begin();
  UnitClaim claim(Host& host, index_t count);
  bool do_part(Host& host, ResidentRows part);
  void work_on_host(Host& host);
  bool is_more_left(Host& host);
  bool are_devices_done() const;
  void stop(const std::exception_ptr& error);
  void run_hosts();
  void land();
  std::vector<ResidentRows> not_done_by_hosts() const;
  std::vector<Landed> wait_for_kernels();
  void note_devices(const std::vector<Landed>& all);
  void note_pages() const;
  template <class F>
  void for_host_rows(const F& f) const;

  const SharedWork& work_;
  const SharePlan& plan_;
  const LaunchRecord& record_;
  SharedLedger& ledger_;
  const Clock::time_point begin_;
  ClaimingLaunch launch_;
  std::vector<WholeCopies::Launch> launches_;  // of its devices
  std::vector<Host> hosts_;
  double started_ = 0;  // when kernels could begin
  std::atomic<bool> has_stopped_ = false;
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
