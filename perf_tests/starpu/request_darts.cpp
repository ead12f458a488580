// SPDX-License-Identifier: Apache-2.0
#include "starpu/request_darts.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace perf {

namespace {
constexpr double never = std::numeric_limits<double>::max();
}

RequestDarts::RequestDarts(const strata::tasks::TaskDag& graph, const strata::tasks::Machine& machine,
                           const std::vector<double>& priorities, const RequestMemories& memories,
                           DartsOptions options)
    : graph_(graph),
      machine_(machine),
      priorities_(priorities),
      memories_(memories),
      options_(options),
      arrays_(static_cast<std::size_t>(graph.num_arrays())),
      devices_(static_cast<std::size_t>(machine.num_devices())),
      random_(options.seed) {
  for (Array& one : arrays_) one.on.resize(devices_.size());
}

// Lists

void RequestDarts::list(ArrayId id, DeviceId device, std::list<ArrayId>::iterator before) {
  OnDevice& own = on(id, device);
  own.is_listed = true;
  own.place = this->device(device).listed.insert(before, id);
}

void RequestDarts::list_at_random(ArrayId id, DeviceId device) {
  std::list<ArrayId>& all = this->device(device).listed;
  const auto place = all.empty() ? 0 : static_cast<std::ptrdiff_t>(random_() % all.size());
  list(id, device, std::next(all.begin(), place));
}

void RequestDarts::unlist(ArrayId id, DeviceId device) {
  OnDevice& own = on(id, device);
  own.is_listed = false;
  this->device(device).listed.erase(own.place);
}

// Tasks

void RequestDarts::release(TaskId task) {
  const DeviceId count = machine_.num_devices();
  ++num_released_;
  DeviceId free_on = none;
  for (DeviceId k = 0; k < count && free_on == none; ++k)
    if (is_free(task, (num_released_ + k) % count)) free_on = (num_released_ + k) % count;
  for (const TaskAccess& access : accesses(task)) {
    Array& one = array(access.array);
    one.is_known = true;
    one.seconds_left += seconds(task);
    for (DeviceId id = 0; id < count && free_on == none; ++id)
      if (!on(access.array, id).is_listed && !is_there(access.array, id))
        list(access.array, id, device(id).listed.end());
  }
  if (free_on == none) {
    for (const TaskAccess& access : accesses(task)) array(access.array).readers.push_front(task);
    waiting_.push_back(task);
    return;
  }
  // Before the first planned task that lacks something.
  std::list<TaskId>& planned = device(free_on).planned;
  const auto place = std::find_if(planned.begin(), planned.end(), [&](TaskId other) {
    return num_lacking_beside(strata::tasks::none, other, free_on) > 0;
  });
  planned.insert(place, task);
  count_planned(task, free_on, 1);
}

bool RequestDarts::is_free(TaskId task, DeviceId id) {
  return std::all_of(accesses(task).begin(), accesses(task).end(), [&](const TaskAccess& access) {
    return array(access.array).is_known &&
           (is_there(access.array, id) || on(access.array, id).planned_uses > 0);
  });
}

int RequestDarts::num_lacking_beside(ArrayId array, TaskId task, DeviceId id) const {
  int count = 0;
  for (const TaskAccess& access : accesses(task))
    count += access.array != array && !is_there(access.array, id) ? 1 : 0;
  return count;
}

void RequestDarts::count_planned(TaskId task, DeviceId id, int change) {
  for (const TaskAccess& access : accesses(task)) on(access.array, id).planned_uses += change;
}

void RequestDarts::plan(TaskId task, DeviceId id) {
  for (const TaskAccess& access : accesses(task)) {
    Array& one = array(access.array);
    one.readers.erase(std::find(one.readers.begin(), one.readers.end(), task));
    one.seconds_left -= seconds(task);
  }
  waiting_.remove(task);
  device(id).planned.push_back(task);
  count_planned(task, id, 1);
}

void RequestDarts::wait_again(TaskId task) {
  for (const TaskAccess& access : accesses(task)) {
    array(access.array).readers.push_front(task);
    array(access.array).seconds_left += seconds(task);
  }
  waiting_.push_back(task);
}

TaskId RequestDarts::pull(DeviceId id) {
  Device& own = device(id);
  if (own.planned.empty() && !waiting_.empty()) plan_more(id);
  if (own.planned.empty()) return none;
  const TaskId task = own.planned.front();
  own.planned.pop_front();
  own.pulled.push_back(task);
  for (const TaskAccess& access : accesses(task)) {
    --on(access.array, id).planned_uses;
    ++on(access.array, id).pulled_uses;
  }
  return task;
}

void RequestDarts::done(TaskId task, DeviceId id) {
  device(id).pulled.remove(task);
  for (const TaskAccess& access : accesses(task)) --on(access.array, id).pulled_uses;
}

// The choice of an array

void RequestDarts::plan_more(DeviceId id) {
  if (!std::exchange(device(id).has_begun, true)) return plan_first(id);
  const Choice best = best_choice(id);
  if (best.num_free > 0) {
    unlist(best.array, id);
    const std::deque<TaskId> readers = array(best.array).readers;
    for (const TaskId task : readers)
      if (num_lacking_beside(best.array, task, id) == 0) plan(task, id);
  } else if (best.one_more != none) {
    plan_one(best.one_more, id);
  } else {
    plan_first(id);
  }
}

void RequestDarts::plan_first(DeviceId id) {
  plan_one(*std::max_element(waiting_.begin(), waiting_.end(),
                             [&](TaskId a, TaskId b) { return priority(a) < priority(b); }),
           id);
}

// Only the first of its arrays that is listed is taken off the list.
void RequestDarts::plan_one(TaskId task, DeviceId id) {
  const auto first = std::find_if(accesses(task).begin(), accesses(task).end(),
                                  [&](const TaskAccess& access) { return on(access.array, id).is_listed; });
  if (first != accesses(task).end()) unlist(first->array, id);
  plan(task, id);
}

bool RequestDarts::Choice::is_better_than(const Choice& other) const {
  if (ratio != other.ratio) return ratio < other.ratio;
  if (num_free != other.num_free) return num_free > other.num_free;
  if (priority != other.priority) return priority > other.priority;
  if (num_one_more != other.num_one_more) return num_one_more > other.num_one_more;
  return seconds_left > other.seconds_left;
}

RequestDarts::Choice RequestDarts::best_choice(DeviceId id) {
  Choice best;
  best.ratio = never;
  best.priority = -never;
  for (const ArrayId candidate : device(id).listed) {
    if (array(candidate).readers.empty()) continue;
    const Choice choice = choice_of(candidate, id);
    if (choice.is_better_than(best)) best = choice;
  }
  return best;
}

RequestDarts::Choice RequestDarts::choice_of(ArrayId id, DeviceId device) {
  Choice choice;
  choice.array = id;
  choice.priority = -never;
  double free_seconds = 0;
  for (const TaskId task : array(id).readers) {
    const int lacking = num_lacking_beside(id, task, device);
    if (lacking == 0) {
      ++choice.num_free;
      choice.priority = choice.num_free == 1 ? priority(task) : std::max(choice.priority, priority(task));
      free_seconds += seconds(task);
    } else if (lacking == 1) {
      ++choice.num_one_more;
      if (priority(task) <= choice.priority) continue;
      choice.priority = priority(task);
      choice.one_more = task;
    }
  }
  // Asked for the memory before the device's own: that of the host for the first one.
  const DeviceId asked = device - 1;
  choice.ratio = choice.num_free == 0  ? never
                 : is_there(id, asked) ? 0
                                       : memories_.expected_seconds(id, asked) / free_seconds;
  choice.seconds_left = array(id).seconds_left;
  return choice;
}

// Eviction

ArrayId RequestDarts::victim(DeviceId id, Urgency urgency) {
  Device& own = device(id);
  const ArrayId failed = std::exchange(own.failed, strata::tasks::none);
  if (failed != strata::tasks::none && is_there(failed, id) && memories_.may_leave(failed, id, urgency))
    return failed;
  const ArrayId chosen = least_needed(id, urgency);
  if (chosen == strata::tasks::none) return chosen;
  // One planned task that uses it waits again.
  const auto uses_it = [&](TaskId task) {
    return std::any_of(accesses(task).begin(), accesses(task).end(),
                       [&](const TaskAccess& access) { return access.array == chosen; });
  };
  const auto user = std::find_if(own.planned.begin(), own.planned.end(), uses_it);
  if (user != own.planned.end()) {
    if (options_.returns_planned_uses) count_planned(*user, id, -1);
    wait_again(*user);
    own.planned.erase(user);
  }
  if (array(chosen).readers.empty()) return chosen;
  for (DeviceId other = 0; other < machine_.num_devices(); ++other)
    if (!on(chosen, other).is_listed && (other == id || !is_there(chosen, other)))
      list_at_random(chosen, other);
  return chosen;
}

// What no task uses; else what fewest planned ones use and none that was pulled; else, but not for a
// prefetch, what those use last.
ArrayId RequestDarts::least_needed(DeviceId id, Urgency urgency) {
  ArrayId least_planned = strata::tasks::none, last = strata::tasks::none;
  int fewest = std::numeric_limits<int>::max();
  long latest = -1;
  for (const ArrayId candidate : memories_.order(id)) {
    if (!memories_.may_leave(candidate, id, urgency)) continue;
    const OnDevice& own = on(candidate, id);
    if (own.pulled_uses == 0 && own.planned_uses == 0) return candidate;
    if (own.pulled_uses == 0 && own.planned_uses < fewest) {
      fewest = own.planned_uses;
      least_planned = candidate;
    }
    if (own.pulled_uses == 0 || least_planned != strata::tasks::none || urgency != Fetch) continue;
    const long use = next_use(candidate, id);
    if (use <= latest) continue;
    latest = use;
    last = candidate;
  }
  return least_planned != strata::tasks::none ? least_planned : last;
}

long RequestDarts::next_use(ArrayId array, DeviceId id) {
  long use = 0;
  for (const TaskId task : device(id).pulled)
    for (const TaskAccess& access : accesses(task)) {
      ++use;
      if (access.array == array) return use;
    }
  return use;
}

}  // namespace perf
