// CoherentState: all that is known of one coherent array. Its handles share it; the lock of Coherence guards
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/devices/backend.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/coherent/instance.hpp>
#include <strata/views/coherent/kept_launch.hpp>
#include <strata/views/coherent/plan/directory.hpp>
#include <strata/views/coherent/plan/work_order.hpp>
#include <strata/views/coherent/transfer_counters.hpp>
#include <strata/views/coherent/work_tracker.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// A use that the lock does not cover: a host view that is alive, a kernel that a host runs, or one of a
/// launch that waits for its result.
struct HostUse {
  ArrayPart part;
  bool writes;
  std::thread::id thread;
  const char* what;  // "a host view", or the kernel
  std::uint64_t number;
  MemoryId memory = host_memory;  // in which it is; in a device's, the array's block may not move meanwhile
  bool is_reservation = false;    // for a use of the same thread that is to come (array_reservation.hpp)
  bool is_kernel = false;         // whose claim directories do not have when they are made anew
  bool has_begun = false;         // what such a one writes is not what it was
  std::vector<Box> lost = {};     // of what such a one writes: no loss, unless it fails

  void note_lost(const Box& box) {
    lost = remainder(lost, box);
    lost.push_back(box);
  }
};

/// A thread that waits until others do not use the part.
struct WaitingUse {
  const ArrayPart* part;  // as long as the thread waits
  bool writes;
  std::thread::id thread;
  std::uint64_t ticket;  // in the order of their begins
};

class CoherentState : public RefCounted {
 public:
  /// The memory of the host that holds all of the array.
  struct Main {
    char* base;             // of the first element
    AllocationRef storage;  // keeps it, or empty
    DeviceInstance* device;
    SpaceId space;
  };

  CoherentState(const char* label, const ArrayShape& shape, const Main& main, MemorySet current,
                MemoryMode mode);
  /// Registers and forgets itself with Coherence.
  ~CoherentState() override;

  const std::string label;
  const ArrayShape shape;
  const Main main;
  const MemoryMode mode;
  /// Whether host and devices use the memory of the host, without copies.
  bool is_shared() const { return mode == MemoryMode::Managed || mode == MemoryMode::Mapped; }
  bool is_explicit() const { return mode == MemoryMode::Explicit || mode == MemoryMode::ExplicitPinned; }
  /// Whether the memory is the user's, in which the values are after the last handle; and the device whose
  /// memory it is, null: the host's.
  bool is_adopted = false;
  DeviceInstance* adopted_on = nullptr;
  int number = -1;               // of all arrays, as Residency has it; used again once the array is destroyed
  const std::uint64_t identity;  // of this array alone

  /// Where the values are going to be once all that is enqueued is done.
  Directory directory;
  TransferCounters counters;
  /// Of its faults, those that the sums of all arrays do not count any more.
  PageFaults forgotten_faults;
  /// Of a managed array: who used its pages last, to whom nothing needs to be moved.
  Directory pages;
  /// Of a managed array: which device writes a part that launches on several devices gave it, and has its
  /// pages, also while another one reads them.
  Directory homes;
  /// Of a managed array: launches on devices since the host has used it (no more are counted than those that
  /// may reach it there, and one), whether there were more than these the last time, and the memories whose
  /// devices reach it at the host.
  int launches_since_host = 0;
  bool moves_at_once = false;
  MemorySet reached_from;
  /// Of an explicit one: the memories where it stays, once it has memory there.
  MemorySet stays_in;
  std::vector<HostUse> host_uses;
  std::vector<WaitingUse> waiting_uses;
  /// Whether there are any but reservations for the calling thread, or the one that it acts for.
  bool has_uses_of_others() const {
    return std::any_of(host_uses.begin(), host_uses.end(), [](const HostUse& use) {
      return !use.is_reservation || use.thread != acting_thread();
    });
  }
  Ref<PinnedMemory> pinned;  // the host's memory, since it was streamed
  /// The error that kept values from being written. It stays until each thread that uses the array has had
  /// it; the threads in `reported_to` have.
  struct Failure {
    std::exception_ptr error;
    std::vector<std::uint64_t> reported_to;  // thread_number()
    bool is_reported_to(std::uint64_t thread) const {
      return std::find(reported_to.begin(), reported_to.end(), thread) != reported_to.end();
    }
  } failure;
  /// One more failure, not reported to any thread yet. Lost values that are still to be reported are reported
  /// with those of this one.
  void add_failure(const std::exception_ptr& error);
  /// How often failures have lost values of it.
  std::uint64_t losses = 0;
  /// Launches whose first use is of this array.
  KeptLaunches kept;

  /// Counts the changes of where values are, and of the memory on devices: while it stays the same, a launch
  /// that is repeated finds all where it was.
  std::uint64_t state_number() const { return directory.changes() + other_changes_; }
  /// The memory on a device has moved, or has been given up.
  void memory_changed() { ++other_changes_; }

  Instance& instance(MemoryId device) {
    const auto k = static_cast<std::size_t>(device) - 1;
    if (k >= instances_.size()) instances_.resize(k + 1);
    return instances_[k];
  }
  WorkOrder& order(MemoryId memory) {
    const auto k = static_cast<std::size_t>(memory);
    return k < orders_.size() && orders_[k] ? *orders_[k] : new_order(k);
  }
  std::size_t instances() const { return instances_.size(); }

  /// Notes what `work` is going to change: `copied`, `written` and `dropped` as the directory has them. The
  /// number 0: it is done.
  void log_copy(MemoryId memory, const Box& box, Work work);
  void log_kernel(MemoryId memory, const Box& box, Work work);
  void log_move(MemoryId memory, const Box& box, Work work);
  void log_drop(MemoryId memory, const Box& box);
  /// The same of values that nobody needs, whoever has failed.
  void log_discard(MemoryId memory, const Box& box);
  /// `memory` gives up what it has of `box`. The last copy of what a kernel outside of the lock is writing
  /// anew is kept with its HostUse: a loss, should it fail.
  void give_up(MemoryId memory, const Box& box);
  /// `boxes` without what a kernel outside of the lock writes in `memory`: directories that were made anew
  /// since do not have its claim, but nobody else may write there. `begun`: without those that wait for work.
  std::vector<Box> without_kernels(MemoryId memory, std::vector<Box> boxes, bool begun) const;
  /// Applies work that has ended to the settled state.
  void settle(WorkTracker& tracker);
  /// The directory as it were without the claims of kernels that have not been enqueued yet.
  Directory unclaimed() const;
  /// Whether the directory says where values are, and not only where they are going to be.
  bool is_settled() const { return log_.empty(); }
  /// The same, but only where much has been noted since.
  void settle_some(WorkTracker& tracker) {
    if (log_.size() <= next_settle_) return;
    settle(tracker);
    next_settle_ = std::max(few_changes, 2 * log_.size());  // to ask for the state of work costs time, too
  }

  /// After work failed: the directory becomes that of what was done. Returns the boxes whose values are lost;
  /// those that a kernel is writing anew are left to its use. `undone`: whether anything else is not as it
  /// was to be written.
  std::vector<Box> rebuild(const WorkTracker::Recovery& recovery, bool& undone);

 private:
  struct Change {
    enum class Kind : unsigned char { Copied, Written, Moved, Dropped, Discarded } kind = Kind::Copied;
    MemoryId memory = host_memory;
    Box box = {};
    Work work = {};
  };
  static constexpr std::size_t few_changes = 32;
  static void apply(const Change& change, Directory& directory);
  void log(Change::Kind kind, MemoryId memory, const Box& box, Work work);
  WorkOrder& new_order(std::size_t memory);
  void lose(const Change& change, std::vector<Box>& lost);

  Directory settled_;
  Fifo<Change> log_;
  std::size_t next_settle_ = few_changes;           // when so much is noted
  std::uint64_t other_changes_ = 0;                 // than those that the directory counts
  std::vector<Instance> instances_;                 // of devices' memories, from 1
  std::vector<std::unique_ptr<WorkOrder>> orders_;  // of all memories
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
