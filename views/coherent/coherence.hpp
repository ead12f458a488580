// Coherence: what all coherent arrays of a program share: the lock, the devices' memories and which arrays
// are in them, the queues of copies, and recovery from failures. One object, never destroyed.
//
// Everything that changes where values are happens under `mutex`: a call plans its copies, enqueues them and
// its kernels, and only then unlocks it. Host views, which wait for devices, do so without the lock.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/device_memories.hpp>
#include <strata/views/coherent/plan/copy_planner.hpp>
#include <strata/views/coherent/thread_waits.hpp>
#include <strata/views/coherent/work_tracker.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Where copies may go that need no queue of their own: those from the host, for each memory, on the queue of
/// what is about to need them, where they are short, or a kernel is next there and nothing before it; and
/// short ones to the host on that of the kernel whose values they bring, or for whose call they are made.
struct CopyLines {
  struct Line {
    MemoryId memory;
    QueueState* queue;
    bool kernel_follows;  // those copies
    // Whether nothing was there before the first long one: devices are asked where there is one.
    mutable int was_idle = -1;

    bool takes_long_copies() const {
      if (kernel_follows && was_idle < 0) was_idle = queue->idle() ? 1 : 0;
      return was_idle > 0;
    }
  };
  std::span<const Line> before = {};
  bool after_kernels = true;
  QueueState* kernels = nullptr;  // of the kernel that has just been enqueued, which short ones follow
  bool are_awaited = false;  // the host waits for them next, so that longer ones, too, follow their kernel
};

class Coherence {
 public:
  static Coherence& get();

  std::mutex mutex;

  // All that follows is called with `mutex` held, but for add, remove and set_budget, which lock it.
  DeviceMemories memories;
  WorkTracker tracker;
  TransferCounters totals;
  /// How often directories were made anew after a failure.
  std::uint64_t recoveries = 0;
  /// Launches that repeated an earlier one, and were not planned again.
  std::uint64_t kept_launches = 0;

  void add(CoherentState& array);
  void remove(CoherentState& array);
  void set_budget(DeviceInstance& device, index_t bytes);
  /// The memory of `device`, with its budget.
  MemoryId memory_of(DeviceInstance& device);

  // ---- waiting for other threads

  /// Sleeps, without the lock, until wake_waiting(): one of `others` has released something. Returns false,
  /// at once or later, where none of them can, as they wait for this thread; never for host uses. `text` and
  /// `ring` as ThreadWaits has them.
  bool wait_for_threads(std::unique_lock<std::mutex>& lock, ThreadWaits::Kind kind,
                        std::vector<std::thread::id> others, std::string text = {},
                        std::string* ring = nullptr);
  /// Waits outside of coherent arrays, which others are to know of (noted_wait.hpp).
  std::uint64_t add_wait(std::thread::id thread, ThreadWaits::Kind kind, std::thread::id other,
                         std::string text);
  bool forget_wait(std::uint64_t wait) { return waits_.forget(wait); }
  /// A host use, a pin or a place in the queue for room has ended, or a budget has grown.
  void wake_waiting() {
    if (waits_.empty()) return;
    waits_.clear();
    woken_.notify_all();
  }
  /// A call that keeps arrays pinned while it does not hold the lock.
  struct PinningCall {
    const void* call;
    std::thread::id thread;
    MemorySet memories;
  };
  std::vector<PinningCall> pinning_calls;
  /// Calls that wait until pins of others leave room in a memory. Those with a later ticket pin nothing there
  /// meanwhile, so that none waits for ever.
  struct RoomWaiter {
    std::uint64_t ticket;
    std::thread::id thread;
    MemoryId memory;
  };
  std::vector<RoomWaiter> room_waiters;
  std::uint64_t last_ticket = 0;
  /// The other threads that keep something pinned in `memory`.
  std::vector<std::thread::id> threads_that_pin(MemoryId memory) const;

  /// A use of the host that excludes this one, or null. AccessConflict where the calling thread has it
  /// itself; `what` names the caller, for messages.
  static const HostUse* find_excluding(const CoherentState& array, const ArrayPart& part, bool writes,
                                       const char* what);
  /// Waits until there is none. Returns whether it had to wait. A reservation, in place of a use:
  /// AccessConflict also where those that it waits for wait for this thread.
  bool wait_for_host_uses(std::unique_lock<std::mutex>& lock, CoherentState& array, const ArrayPart& part,
                          bool writes, const char* what, bool is_reservation = false);
  /// How many threads do so, to be read without the lock.
  std::atomic<int> num_waiting_uses = 0;
  /// Waits until those have their use that conflicts, and that waited for it when `ticket` was the last one;
  /// but not for those that wait for this thread.
  void wait_for_turn(std::unique_lock<std::mutex>& lock, const CoherentState& array, const ArrayPart& part,
                     bool writes, std::uint64_t ticket, const char* what);
  /// If the rows need a new block on the device, waits for the launches that run in the old one without the
  /// lock: what they write would be lost with it. Returns whether it had to wait.
  bool wait_to_move(std::unique_lock<std::mutex>& lock, CoherentState& array, MemoryId memory,
                    ResidentRows rows);
  /// Gives the rows memory on a device; the caller has pinned the array there. Returns the bytes for which
  /// there is no room: 0 if it has the memory.
  index_t reside(CoherentState& array, MemoryId memory, ResidentRows rows);
  /// Throws OutOfMemory, which lists what is resident; `why` adds a reason.
  [[noreturn]] void fail_room(const CoherentState& array, MemoryId memory, index_t bytes,
                              const char* why = "");
  /// Enqueues the copies of a plan; the directory knows of each once it is enqueued. `arrays` are the plan's.
  /// `lines` as queue_for() has them.
  void enqueue(std::span<const PlannedCopy> copies, std::span<CoherentState* const> arrays,
               const CopyLines& lines = {});
  /// For a plan that is made now.
  CopyPlanner& new_plan() {
    planner_.clear();
    return planner_;
  }
  /// The queue of a copy that comes after `after`. Queues that wait for each other cost some microseconds, in
  /// which the bytes of a short copy have long arrived: it goes before the kernel that needs it, where
  /// no kernel over coherent arrays is under way on that queue and nothing elsewhere keeps it waiting, or
  /// after the kernel whose values it brings, where nothing has been enqueued on that queue since, as does
  /// one of up to 1 MiB to page-locked memory that the host waits for. Others have queues of their own, so
  /// that they overlap kernels.
  QueueState& queue_for(MemoryId from, MemoryId to, index_t bytes, const WorkList& after,
                        const CopyLines& lines = {});
  /// Enqueues one copy, which the caller has ordered and notes.
  void enqueue_copy(QueueState& queue, CoherentState& array, const Box& box, MemoryId from, MemoryId to,
                    char* from_base = nullptr);
  /// Enqueues a copy to the host of values that a device has, also where the host has them.
  void copy_out(CoherentState& array, MemoryId memory, const Box& box, const CopyLines& lines);
  /// The memory of the array on a device is not given up any more.
  void keep_in(CoherentState& array, MemoryId memory);
  /// Enqueues copies to the host of the values that only the device has.
  void write_back(CoherentState& array, MemoryId memory);
  /// Writes back, waits for all work on it, and frees the array's memory on the device.
  void evict(CoherentState& array, MemoryId memory);
  /// Waits for all work on the part of `array` in `memory`. Throws its error.
  void wait_for_work(CoherentState& array, MemoryId memory, const Box& box);
  /// Adds those of all arrays that there are, since forget_counts().
  void add_faults(TransferCounters& counters) const;
  /// The totals begin at zero again; arrays keep their own counts.
  void forget_counts();
  /// Frees the host's memory of destroyed arrays, where no copy uses it any more.
  void drop_leftovers();

  /// If work failed: waits for all work, corrects the directories, and throws the error; DataLost where
  /// values are lost.
  void check_failures() {
    if (tracker.failed()) recover();
  }
  [[noreturn]] void recover();
  /// Throws, once per thread, the error of work on the array that was thrown to another thread.
  void report_failure(CoherentState& array) {
    if (array.failure.error) throw_failure(array);
  }

 private:
  struct Budget {
    SpaceId space;
    index_t bytes;
  };
  // Memory of the host of a destroyed array, until copies are done.
  struct Leftover {
    AllocationRef storage;
    Ref<PinnedMemory> pinned;
    std::vector<Ref<EventState>> until;
  };

  CopySide side(CoherentState& array, MemoryId memory, const LayoutDescriptor& layout, char* base = nullptr);
  Work copy(CoherentState& array, const Box& box, MemoryId from, MemoryId to, char* from_base = nullptr,
            const CopyLines& lines = {});
  bool make_room(MemoryId memory, index_t bytes);
  bool evict_least_used(MemoryId memory);
  void move_values(CoherentState& array, MemoryId memory, const Instance& old);
  void count(CoherentState& array, TransferCount TransferCounters::*kind, index_t bytes) {
    (array.counters.*kind).add(bytes);
    (totals.*kind).add(bytes);
  }
  void throw_failure(CoherentState& array);

  std::vector<CoherentState*> arrays_;  // by number; null: free
  std::vector<Budget> budgets_;
  CopyPlanner planner_{memories.links()};
  std::vector<Leftover> leftovers_;
  ThreadWaits waits_;
  std::condition_variable woken_;
};

}  // namespace strata::inline STRATA_ABI::detail
