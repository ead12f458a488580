// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/plan/missing_arrays.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

void MissingArrays::start(const SchedulerView& view) {
  graph_ = &view.graph;
  num_devices_ = static_cast<std::size_t>(view.machine.num_devices());
  const std::size_t tasks = static_cast<std::size_t>(view.graph.num_tasks());
  const std::size_t arrays = static_cast<std::size_t>(view.graph.num_arrays());
  entries_.resize(tasks);
  is_waiting_.resize(tasks);
  owners_.assign(tasks, none);
  tasks_.resize(num_devices_ + 1);
  complete_.resize(num_devices_);
  for (TaskId task = 0; task < view.graph.num_tasks(); ++task) {
    // The rates of the first device stand for all: they only rank arrays.
    seconds_.push_back(view.machine.run_seconds(view.graph, task, 0));
    inputs_.emplace_back();
    for (const TaskAccess& access : view.graph.task(task).accesses)
      if (access.reads()) inputs_.back().push_back(access.array);
  }
  readers_.resize(arrays);
  seconds_left_.resize(arrays);
  is_there_.resize(arrays * num_devices_);
  counts_.resize(arrays * num_devices_);
  is_changed_.resize(arrays * num_devices_);
  changed_.resize(num_devices_);
}

template <class F>
void MissingArrays::for_devices_of(TaskId task, const F& f) const {
  const DeviceId owner = owners_[static_cast<std::size_t>(task)];
  const DeviceId end = owner == none ? static_cast<DeviceId>(num_devices_) : owner + 1;
  for (DeviceId device = owner == none ? 0 : owner; device < end; ++device) f(device);
}

void MissingArrays::add(const PriorityEntry& task, DeviceId owner) {
  const std::size_t id = static_cast<std::size_t>(task.task);
  entries_[id] = task;
  owners_[id] = owner;
  is_waiting_[id] = true;
  tasks_[static_cast<std::size_t>(owner + 1)].insert(task);
  for (const ArrayId array : inputs_[id]) {
    readers_[static_cast<std::size_t>(array)].push_back(task.task);
    seconds_left_[static_cast<std::size_t>(array)] += seconds_[id];
  }
  for_devices_of(task.task, [&](DeviceId device) {
    count(task, device, true);
    for (const ArrayId array : inputs_[id]) mark(array, device);
  });
}

void MissingArrays::remove(TaskId task) {
  const std::size_t id = static_cast<std::size_t>(task);
  for_devices_of(task, [&](DeviceId device) {
    count(entries_[id], device, false);
    for (const ArrayId array : inputs_[id]) mark(array, device);
  });
  is_waiting_[id] = false;
  tasks_[static_cast<std::size_t>(owners_[id] + 1)].erase(entries_[id]);
  for (const ArrayId array : inputs_[id]) {
    std::vector<TaskId>& readers = readers_[static_cast<std::size_t>(array)];
    readers.erase(std::find(readers.begin(), readers.end(), task));
    double& left = seconds_left_[static_cast<std::size_t>(array)];
    left = readers.empty() ? 0 : left - seconds_[id];
  }
}

void MissingArrays::set_there(ArrayId array, DeviceId device, bool is_there) {
  if (is_there_[at(array, device)] == is_there) return;
  const std::vector<TaskId>& readers = readers_[static_cast<std::size_t>(array)];
  const auto count_readers = [&](bool is_added) {
    for (const TaskId task : readers)
      if (const DeviceId owner = owners_[static_cast<std::size_t>(task)]; owner == none || owner == device)
        count(entries_[static_cast<std::size_t>(task)], device, is_added);
  };
  count_readers(false);
  is_there_[at(array, device)] = is_there;
  count_readers(true);
  mark(array, device);
}

int MissingArrays::missing(TaskId task, DeviceId device) const {
  int count = 0;
  for (const ArrayId array : inputs_[static_cast<std::size_t>(task)])
    count += is_there(array, device) ? 0 : 1;
  return count;
}

// Enters a task under the one or two arrays that it lacks, or removes it from there.
void MissingArrays::count(const PriorityEntry& task, DeviceId device, bool is_added) {
  const std::size_t id = static_cast<std::size_t>(task.task);
  const int missing = this->missing(task.task, device);
  if (missing == 0) {
    if (is_added) complete_[static_cast<std::size_t>(device)].insert(task);
    else complete_[static_cast<std::size_t>(device)].erase(task);
  }
  if (missing != 1 && missing != 2) return;
  for (const ArrayId array : inputs_[id]) {
    if (is_there(array, device)) continue;
    Counts& counts = counts_[at(array, device)];
    std::set<PriorityEntry>& tasks = missing == 1 ? counts.free : counts.one_more;
    if (is_added) tasks.insert(task);
    else tasks.erase(task);
    if (missing == 1)
      counts.free_seconds =
          tasks.empty() ? 0 : counts.free_seconds + (is_added ? seconds_[id] : -seconds_[id]);
    mark(array, device);
  }
}

void MissingArrays::mark(ArrayId array, DeviceId device) {
  if (is_changed_[at(array, device)]) return;
  is_changed_[at(array, device)] = true;
  changed_[static_cast<std::size_t>(device)].push_back(array);
}

const std::vector<ArrayId>& MissingArrays::take_changed(DeviceId device) {
  taken_.clear();
  taken_.swap(changed_[static_cast<std::size_t>(device)]);
  for (const ArrayId array : taken_) is_changed_[at(array, device)] = false;
  return taken_;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
