// What StarPU's schedulers with prefetch share: the requests of a device, and the Ready rule.
#pragma once

#include <set>
#include <vector>

#include <strata/algorithms/tasks/plan/lru_scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// Arrays that are to be prefetched, by priority. From its request on StarPU takes an array for there, and
/// until the task that it is for leaves the queue no other prefetch evicts it.
class PrefetchQueue {
 public:
  void start(const SchedulerView& view) {
    requests_.assign(static_cast<std::size_t>(view.graph.num_arrays()), 0);
    waits_ = requests_;
  }
  void request(ArrayId array, double priority) {
    queue_.insert({priority, next_number_++, array});
    ++requests_[static_cast<std::size_t>(array)];
    ++waits_[static_cast<std::size_t>(array)];
  }
  /// A task for which `array` was requested has left the queue.
  void leave(ArrayId array) { --waits_[static_cast<std::size_t>(array)]; }
  bool is_waited_for(ArrayId array) const { return waits_[static_cast<std::size_t>(array)] > 0; }
  /// The next one that the device does not hold and a task in the queue still waits for; none: there is none.
  ArrayId take(const Residency& memory, DeviceId device) {
    while (!queue_.empty()) {
      const ArrayId array = queue_.begin()->task;
      queue_.erase(queue_.begin());
      --requests_[static_cast<std::size_t>(array)];
      if (is_waited_for(array) && !memory.holds(array, device)) return array;
    }
    return none;
  }
  bool is_requested(ArrayId array) const { return requests_[static_cast<std::size_t>(array)] > 0; }

 private:
  std::set<PriorityEntry> queue_;
  std::vector<int> requests_, waits_;  // of arrays
  long next_number_ = 0;
};

/// Takes a task out of `queue`, a range of tasks in their order, which is not empty: of those whose priority
/// is at least that of the first, the one that lacks the fewest bytes; of these the first. `priority`: of a
/// task.
template <class Queue, class Priority>
TaskId take_by_ready_rule(Queue& queue, const SchedulerView& view, PrefetchQueue& prefetches, DeviceId device,
                          const Priority& priority) {
  auto best = queue.begin();
  index_t least = -1;
  const double lowest = priority(*queue.begin());
  for (auto at = queue.begin(); at != queue.end() && least != 0; ++at) {
    if (priority(*at) < lowest) continue;
    index_t lacks = 0;
    for (const TaskAccess& access : view.graph.task(*at).accesses)
      if (access.reads() && !view.memory.holds(access.array, device) &&
          !prefetches.is_requested(access.array))
        lacks += view.graph.array(access.array).bytes;
    if (least >= 0 && lacks >= least) continue;
    least = lacks;
    best = at;
  }
  const TaskId task = *best;
  for (const TaskAccess& access : view.graph.task(task).accesses)
    if (access.reads()) prefetches.leave(access.array);
  queue.erase(best);
  return task;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
