// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace strata::inline STRATA_ABI::tasks {

namespace {
constexpr std::size_t few = 4;  // tasks that wait for one, mostly
}  // namespace

ArrayId TaskDag::add_array(std::string label, index_t bytes, bool by_parts) {
  if (bytes < 1)
    throw TaskError("the array \"" + label + "\" has " + std::to_string(bytes) +
                    " bytes: an array of tasks has at least one");
  ArrayUses uses;
  uses.array = {std::move(label), bytes, by_parts};
  arrays_.push_back(std::move(uses));
  return num_arrays() - 1;
}

TaskId TaskDag::add_task(std::string label, const std::string& kernel, double work,
                         const std::vector<TaskAccess>& accesses) {
  if (!(work >= 0) || std::isinf(work))
    throw TaskError("the work of the task \"" + label + "\" is " + std::to_string(work) +
                    ": it is a number of at least 0");
  for (const TaskAccess& access : accesses)
    if (access.array < 0 || access.array >= num_arrays())
      throw TaskError("the task \"" + label + "\" uses the array number " + std::to_string(access.array) +
                      " of a graph that has " + std::to_string(num_arrays()) + ": add_array comes first");
  const TaskId id = num_tasks();
  Task task{std::move(label), 0, work, {}};
  task.accesses.reserve(accesses.size());
  for (const TaskAccess& access : accesses) {
    std::vector<TaskId>& users = arrays_[static_cast<std::size_t>(access.array)].users;
    if (users.empty() || users.back() != id) {
      users.push_back(id);
      task.accesses.push_back(access);
      continue;
    }
    const auto same = std::find_if(task.accesses.begin(), task.accesses.end(),
                                   [&](const TaskAccess& other) { return other.array == access.array; });
    *same = {access.array, same->mode == access.mode ? access.mode : AccessMode::InOut};
  }
  const auto [known, is_new] = kernel_ids_.try_emplace(kernel, static_cast<KernelId>(kernels_.size()));
  task.kernel = known->second;
  if (is_new) kernels_.push_back(kernel);

  before_.clear();
  const auto add_all = [this](const std::vector<TaskId>& tasks) {
    before_.insert(before_.end(), tasks.begin(), tasks.end());
  };
  for (TaskAccess& access : task.accesses) {
    ArrayUses& uses = arrays_[static_cast<std::size_t>(access.array)];
    task.bytes += uses.array.bytes;
    access.commutes = access.commutes && access.mode == AccessMode::InOut && !uses.array.by_parts;
    if (uses.array.by_parts) continue;
    if (access.commutes && uses.commutes && uses.readers.empty()) {
      add_all(uses.before);
      uses.writers.push_back(id);
    } else if (access.writes()) {
      add_all(uses.writers);
      add_all(uses.readers);
      uses.before.clear();
      if (access.commutes) {
        uses.before = uses.writers;
        uses.before.insert(uses.before.end(), uses.readers.begin(), uses.readers.end());
      }
      uses.writers = {id};
      uses.readers.clear();
      uses.commutes = access.commutes;
    } else {
      add_all(uses.writers);
      uses.readers.push_back(id);
    }
  }
  std::sort(before_.begin(), before_.end());
  before_.erase(std::unique(before_.begin(), before_.end()), before_.end());
  tasks_.push_back(std::move(task));
  successors_.emplace_back();
  for (const TaskId other : before_) {
    std::vector<TaskId>& after = successors_[static_cast<std::size_t>(other)];
    if (after.empty()) after.reserve(few);
    after.push_back(id);
  }
  predecessors_.push_back(before_);
  return id;
}

void TaskDag::add_release(ArrayId array, bool discards) {
  if (array < 0 || array >= num_arrays())
    throw TaskError("the array number " + std::to_string(array) + " is to be given up, of a graph that has " +
                    std::to_string(num_arrays()));
  ArrayUses& uses = arrays_[static_cast<std::size_t>(array)];
  uses.releases.push_back({static_cast<int>(uses.users.size()), discards});
}

void TaskDag::add_dependency(TaskId before, TaskId after) {
  for (const TaskId task : {before, after})
    if (task < 0 || task >= num_tasks())
      throw TaskError("a dependency names the task number " + std::to_string(task) + " of a graph that has " +
                      std::to_string(num_tasks()));
  std::vector<TaskId>& known = predecessors_[static_cast<std::size_t>(after)];
  if (std::find(known.begin(), known.end(), before) != known.end()) return;
  known.push_back(before);
  is_in_order_ = is_in_order_ && before < after;
  successors_[static_cast<std::size_t>(before)].push_back(after);
}

std::string TaskDag::describe(TaskId id) const {
  const Task& task = this->task(id);
  std::string text = task.label;
  for (std::size_t k = 0; k < task.accesses.size(); ++k)
    text += (k == 0                          ? " of "
             : k + 1 == task.accesses.size() ? " and "
                                             : ", ") +
            array(task.accesses[k].array).label;
  return text;
}

std::vector<TaskId> TaskDag::order() const {
  if (is_in_order_) {
    std::vector<TaskId> all(tasks_.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::vector<int> waits;
  for (const std::vector<TaskId>& before : predecessors_) waits.push_back(static_cast<int>(before.size()));
  std::priority_queue<TaskId, std::vector<TaskId>, std::greater<>> ready;
  for (TaskId task = 0; task < num_tasks(); ++task)
    if (waits[static_cast<std::size_t>(task)] == 0) ready.push(task);
  std::vector<TaskId> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const TaskId next : successors(order.back()))
      if (--waits[static_cast<std::size_t>(next)] == 0) ready.push(next);
  }
  return order;
}

void TaskDag::require_acyclic() const {
  if (is_in_order_) return;
  const std::vector<TaskId> ordered = order();
  if (ordered.size() == tasks_.size()) return;
  std::vector<bool> is_ordered(tasks_.size());
  for (const TaskId task : ordered) is_ordered[static_cast<std::size_t>(task)] = true;
  // Each task that is left waits for another one that is left: going back from one to the next ends in a
  // cycle.
  std::vector<TaskId> path;
  std::vector<bool> seen(tasks_.size());
  TaskId task =
      static_cast<TaskId>(std::find(is_ordered.begin(), is_ordered.end(), false) - is_ordered.begin());
  while (!seen[static_cast<std::size_t>(task)]) {
    seen[static_cast<std::size_t>(task)] = true;
    path.push_back(task);
    const std::vector<TaskId>& before = predecessors(task);
    task = *std::find_if(before.begin(), before.end(),
                         [&](TaskId other) { return !is_ordered[static_cast<std::size_t>(other)]; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), task));
  std::string text = "\"" + this->task(task).label + "\"";
  for (auto step = path.rbegin(); step != path.rend(); ++step)
    text += " -> \"" + this->task(*step).label + "\"";
  throw TaskError("the dependencies of the graph have a cycle, so that none of its tasks can be first: " +
                  text);
}

std::vector<double> bottom_levels(const TaskDag& graph) {
  std::vector<double> levels(static_cast<std::size_t>(graph.num_tasks()));
  const std::vector<TaskId> order = graph.order();
  if (order.size() < levels.size()) graph.require_acyclic();  // which says what the cycle is
  for (auto task = order.rbegin(); task != order.rend(); ++task) {
    double after = 0;
    for (const TaskId next : graph.successors(*task))
      after = std::max(after, levels[static_cast<std::size_t>(next)]);
    levels[static_cast<std::size_t>(*task)] = after + 1;
  }
  return levels;
}

}  // namespace strata::inline STRATA_ABI::tasks
