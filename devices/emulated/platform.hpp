// Platform: the emulated machine: its instances, their memory, queues and virtual time. Private to this
// folder.
//
// Locks, in the order in which they may be taken: Platform::instances_mutex, Platform::mutex, then the mutex
// of one QueueCore or that of one instance's threads; the quarantine of an instance before the mutex of a
// core, and never with the first two. No lock is held while a kernel, a copy or a hook runs, or is destroyed.
//
// Instances, once made, live until the process ends, since allocations and queues refer to them; a new
// configuration replaces memory and clock beneath them. `memory` is read without a lock: configurations
// change only while no thread uses the devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <strata/devices/emulated/control.hpp>
#include <strata/devices/emulated/event.hpp>
#include <strata/devices/emulated/memory.hpp>
#include <strata/devices/emulated/queue_core.hpp>
#include <strata/devices/emulated/timeline.hpp>

namespace strata::inline STRATA_ABI::detail {

class EmulatedInstance;

/// All work that there is at some moment.
struct PendingWork {
  /// What a queue has under way: its last work, and that work's place in virtual time.
  struct OfQueue {
    std::shared_ptr<QueueCore> core;
    QueueCore::LastWork last;
    Timeline::Point point;
  };
  std::vector<OfQueue> queues;
  Moment end;  ///< of all of it, but that these queues may lag

  /// Blocks until it has run.
  void wait() const;
  bool has_run() const;
  /// When all of it ended in virtual time, of the epoch of `end`, once it has run: how far a queue lags at
  /// the end of its work is not known before.
  double end_time() const;
};

/// The whole machine; made by the first use, never destroyed.
class Platform {
 public:
  /// Throws RuntimeEnded if it would have to be made after the end of the runtime.
  static Platform& get();

  std::mutex mutex;  // of all data but `instances` and `memory`
  std::mutex instances_mutex;
  emulated::Config config;  // changed under both, read under one
  Timeline timeline;
  std::uint64_t epoch = 0;    // counts the resets of virtual time
  int clock_holds = 0;        // emulated::HeldClock that live
  int faults[3] = {0, 0, 0};  // operations until the next failure; 0: none
  std::unique_ptr<EmulatedMemory> memory;

  emulated::Config configuration();
  /// Replaces the configuration; see emulated::configure.
  void build(const emulated::Config& wanted);
  void reset_time();
  /// Counts an operation down; true if it is the one to fail. `mutex` is held.
  bool fails(emulated::Fault what);

  /// Throws NoSuchDevice.
  EmulatedInstance& instance(int index);

  /// A new queue. Throws NoSuchDevice.
  std::shared_ptr<QueueCore> make_core(int instance, std::uint64_t id);
  /// The queues of an instance that still have a handle.
  std::vector<std::shared_ptr<QueueCore>> open_cores(int instance);
  /// Drops queues without a handle whose work is done, in real and in virtual time.
  void forget_finished_cores();
  /// Of one instance, or (-1) of all; of one queue.
  PendingWork pending_work(int instance = -1);
  PendingWork pending_work(const QueueCore& queue);

  /// Of a kernel; `mutex` is held.
  double seconds_per_item(int instance) const;
  /// The seconds that these moves take; `mutex` is held.
  double seconds_of(const PageCost& cost) const;
  /// Moves the host's clock by what its own faults have cost since it was last read; `mutex` is held.
  void settle_faults();
  /// `work` of a queue began `before` seconds after its place, and ends later still for moving pages: returns
  /// by how much.
  double note_lag(const QueueCore& core, const QueueCore::Work& work, double before, const PageCost& cost);
  /// After a wait for `work`: moves the host's clock to its end.
  void host_wait_for(const PendingWork& work);

  /// The host's virtual clock, and whether waits leave it where it is.
  Moment moment();
  bool clock_is_held();
  void host_wait_until(Moment moment);

  /// Waits for all work of all instances; errors stay with their queues. Returns at once inside a kernel.
  void drain() noexcept;

  /// Whether this is a child of fork(): it has neither the threads nor memory of its own.
  bool forked() const;

 private:
  Platform();
  void end() noexcept;
  void forget_finished_cores_locked();
  template <class IsWanted>
  PendingWork pending_work_of(const IsWanted& is_wanted);
  void require_unused(int instances);

  const pid_t process_;
  std::vector<std::unique_ptr<EmulatedInstance>> instances_;  // grows only
  std::vector<std::shared_ptr<QueueCore>> cores_;             // with a handle, or with work under way
};

/// Throws Error inside a kernel of an emulated instance: it might wait for itself.
void require_outside_kernels(const char* what);

}  // namespace strata::inline STRATA_ABI::detail
