// PrefetchingScheduler: what StarPU's schedulers with prefetch share: the requests of each device, which of
// its arrays stay for them, and the Ready rule.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>
#include <strata/algorithms/tasks/plan/ready_queues.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// Arrays that are to be prefetched, by priority.
class PrefetchQueue {
 public:
  explicit PrefetchQueue(index_t num_arrays)
      : requests_(static_cast<std::size_t>(num_arrays)), waits_(requests_), writes_(requests_) {}
  void request(const TaskAccess& access, double priority) {
    const std::size_t k = static_cast<std::size_t>(access.array);
    queue_.insert({priority, next_number_++, access.array});
    ++requests_[k];
    ++waits_[k];
    if (access.writes()) ++writes_[k];
  }
  /// A task for which `access` was requested has left the queue.
  void leave(const TaskAccess& access) {
    const std::size_t k = static_cast<std::size_t>(access.array);
    --waits_[k];
    if (access.writes()) --writes_[k];
  }
  /// The next one that the device does not hold and a task in the queue still waits for; none: there is none.
  ArrayId take(const Residency& memory, DeviceId device) {
    while (!queue_.empty()) {
      const ArrayId array = queue_.begin()->task;
      queue_.erase(queue_.begin());
      --requests_[static_cast<std::size_t>(array)];
      if (is_waited_for(array) && !memory.holds(array, device)) return last_taken_ = array;
    }
    return none;
  }

  bool is_requested(ArrayId array) const { return requests_[static_cast<std::size_t>(array)] > 0; }
  bool is_waited_for(ArrayId array) const { return waits_[static_cast<std::size_t>(array)] > 0; }
  bool is_waited_for_write(ArrayId array) const { return writes_[static_cast<std::size_t>(array)] > 0; }
  /// What take() returned last, which may wait for room.
  ArrayId last_taken() const { return last_taken_; }

 private:
  std::set<PriorityEntry> queue_;               // of arrays
  std::vector<int> requests_, waits_, writes_;  // of arrays
  ArrayId last_taken_ = none;
  long next_number_ = 0;
};

/// See the head of the file.
class PrefetchingScheduler : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  void start(const SchedulerView& view) override {
    prefetches_.assign(static_cast<std::size_t>(view.machine.num_devices()),
                       PrefetchQueue(view.graph.num_arrays()));
    queues_.start(view);
    LruScheduler::start(view);
  }
  void loading(ArrayId array, DeviceId device) override { queues_.changed(array, device); }
  void loaded(ArrayId array, DeviceId device) override {
    LruScheduler::loaded(array, device);
    queues_.changed(array, device);
  }
  void evicted(ArrayId array, DeviceId device) override {
    LruScheduler::evicted(array, device);
    queues_.changed(array, device);
  }
  ArrayId prefetch(DeviceId device) override {
    const ArrayId before = prefetches(device).last_taken();
    const ArrayId array = prefetches(device).take(view().memory, device);
    if (before != none) queues_.changed(before, device);
    if (array != none) queues_.changed(array, device);
    return array;
  }

 protected:
  PrefetchQueue& prefetches(DeviceId device) { return prefetches_[static_cast<std::size_t>(device)]; }
  const PrefetchQueue& prefetches(DeviceId device) const {
    return prefetches_[static_cast<std::size_t>(device)];
  }
  /// All that the task reads, when it enters the device's queue.
  void request(TaskId task, DeviceId device, double priority) {
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      if (!access.reads()) continue;
      prefetches(device).request(access, priority);
      kind_changed(access.array, device);
      lru().use(access.array, device);
    }
  }
  /// A task enters the device's queue, of which tasks of the highest priority come first.
  void enqueue(TaskId task, DeviceId device, double priority) {
    request(task, device, priority);
    queues_.add(task, device, priority, lacking_bytes(task, device));
  }
  /// Takes a task out of the queue: of those of the highest priority the one that lacks least, of these the
  /// first. none: there is none.
  TaskId dequeue(DeviceId device) {
    const TaskId task = queues_.take(device, [&](TaskId other) { return lacking_bytes(other, device); });
    if (task != none) leave(task, device);
    return task;
  }
  std::size_t num_queued(DeviceId device) const { return queues_.size(device); }
  /// Takes a task out of `queue`, a short range of tasks in their order, which is not empty: the one that
  /// lacks least, of these the one of the highest `priority`, of these the first; the first that lacks
  /// nothing, whatever its priority.
  template <class Queue, class Priority>
  TaskId take_by_ready_rule(Queue& queue, DeviceId device, const Priority& priority) {
    auto best = queue.begin();
    LackingBytes least = lacking_bytes(*best, device);
    for (auto at = std::next(best); at != queue.end() && least.is_any(); ++at) {
      const LackingBytes lacking = lacking_bytes(*at, device);
      if (lacking > least || (lacking == least && priority(*at) <= priority(*best))) continue;
      least = lacking;
      best = at;
    }
    const TaskId task = *best;
    leave(task, device);
    queue.erase(best);
    return task;
  }
  LackingBytes lacking_bytes(TaskId task, DeviceId device) const {
    LackingBytes lacking;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      const index_t bytes = view().graph.array(access.array).bytes;
      const bool is_held = view().memory.holds(access.array, device);
      if (!is_held) lacking.room += bytes;
      if (!access.reads() || view().memory.is_present(access.array, device)) continue;
      lacking.values += bytes;
      if (!is_held && access.array != prefetches(device).last_taken()) lacking.not_coming += bytes;
    }
    return lacking;
  }

  // StarPU counts what it prefetched for a task as needed until the task has it, and as dirty from the copy
  // on where the task will write it.
  bool is_kept(ArrayId array, DeviceId device) const final { return prefetches(device).is_waited_for(array); }
  bool counts_as_dirty(ArrayId array, DeviceId device) const final {
    return LruScheduler::counts_as_dirty(array, device) || prefetches(device).is_waited_for_write(array);
  }

 private:
  void leave(TaskId task, DeviceId device) {
    for (const TaskAccess& access : view().graph.task(task).accesses)
      if (access.reads()) {
        prefetches(device).leave(access);
        kind_changed(access.array, device);
      }
  }
  std::vector<PrefetchQueue> prefetches_;  // of devices
  ReadyQueues queues_;
};

}  // namespace strata::inline STRATA_ABI::tasks::detail
