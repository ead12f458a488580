// TaskScheduler: which task runs where and when, what is loaded ahead of its task, and what leaves a full
// memory.
//
// Events come in, decisions go out; a scheduler has no thread, no clock of its own and no device. TaskDriver
// calls it, from one thread at a time, and carries out what it decides: in a simulation, on devices, in a
// test. The same events in the same order get the same decisions.
//
// Whoever writes one decides at least ready() and assign(), and victims() by LruOrder (lru_order.hpp) or
// otherwise.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/tasks/plan/residency.hpp>

namespace strata::inline STRATA_ABI::tasks {

/// Where arrays are to be in the end.
enum class TaskEnd : unsigned char {
  OnHost,  ///< the host has all values
  InPlace  ///< values stay where tasks left them
};

/// What a scheduler may look at; all of it outlives the scheduler's use.
struct SchedulerView {
  const TaskDag& graph;           ///< all tasks and arrays
  const Machine& machine;         ///< what costs what
  const Residency& memory;        ///< as it is now
  const double& now;              ///< seconds since the start, as far as the driver was told
  TaskEnd end = TaskEnd::OnHost;  ///< where arrays are to be
};

/// Room that a device needs.
struct RoomRequest {
  DeviceId device;   ///< whose memory is full
  index_t bytes;     ///< to be made free
  bool is_prefetch;  ///< which may wait: no victim is an answer
};

/// See the head of the file.
class TaskScheduler {
 public:
  virtual ~TaskScheduler() = default;

  /// Before all else, once.
  virtual void start(const SchedulerView& view) = 0;

  // Events.
  /// A task is known: all are before the first is ready.
  virtual void submitted(TaskId) {}
  /// A task waits for no other one any more; the last one ran on `released_by`, or there was none (host).
  virtual void ready(TaskId task, DeviceId released_by) = 0;
  /// A copy of an array is on its way to a device, until loaded(), or until evicted() where another device
  /// writes the array before it is there.
  virtual void loading(ArrayId, DeviceId) {}
  /// A device holds an array that it did not.
  virtual void loaded(ArrayId, DeviceId) {}
  /// A device does not hold an array any more.
  virtual void evicted(ArrayId, DeviceId) {}
  /// The host has the values of an array that it lacked.
  virtual void stored(ArrayId) {}
  /// A task has run; what it writes is valid on the device alone.
  virtual void done(TaskId, DeviceId) {}

  // Decisions.
  /// The next task of a device, which then reserves room for all that the task uses; none: nothing now. Asked
  /// again after each event, so that idling is a decision. Each ready task is to be given once.
  virtual TaskId assign(DeviceId device) = 0;
  /// How many tasks a device has at most that are assigned and not done.
  virtual int tasks_ahead(DeviceId) const { return 2; }
  /// An array to load ahead of its tasks; none: nothing. Asked when nothing else is to be loaded.
  virtual ArrayId prefetch(DeviceId) { return none; }
  /// An array of which the device has the only values, to be stored before its room is needed, so that it can
  /// leave at once; none: nothing. Asked when the device stores nothing. It stays there, and may be used;
  /// what a task is about to overwrite is not stored.
  virtual ArrayId store(DeviceId) { return none; }
  /// Whether an array that is on its way to a nearer device than those that have it is awaited there; else it
  /// comes from the nearest that has it, whatever else its link has to do.
  virtual bool awaits_copies() const { return true; }
  /// Whether an array that no device with a faster link than the host's has goes over one that is joined by
  /// such links to both, where there is one and it has room.
  virtual bool sends_on() const { return false; }
  /// Adds arrays that leave the device: evictable ones of at least `request.bytes` together; fewer where
  /// copies that are under way will make enough others evictable, after which it is asked again.
  virtual void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) = 0;
};

}  // namespace strata::inline STRATA_ABI::tasks
