#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include <strata/algorithms/tasks/plan/task_graph.hpp>

namespace strata::inline STRATA_ABI::tasks {

ArrayId TaskGraph::add_array(std::string label, index_t bytes) {
  if (bytes < 1)
    throw TaskError("the array \"" + label + "\" has " + std::to_string(bytes) +
                    " bytes: an array of tasks has at least one");
  arrays_.push_back({{std::move(label), bytes}, {}, none, {}});
  return num_arrays() - 1;
}

TaskId TaskGraph::add_task(std::string label, const std::string& kernel, double work,
                           const std::vector<TaskAccess>& accesses) {
  if (!(work >= 0) || std::isinf(work))
    throw TaskError("the work of the task \"" + label + "\" is " + std::to_string(work) +
                    ": it is a number of at least 0");
  const TaskId id = num_tasks();
  Task task{std::move(label), 0, work, {}};
  for (const TaskAccess& access : accesses) {
    if (access.array < 0 || access.array >= num_arrays())
      throw TaskError("the task \"" + task.label + "\" uses the array number " +
                      std::to_string(access.array) + " of a graph that has " + std::to_string(num_arrays()) +
                      ": add_array comes first");
    const auto same = std::find_if(task.accesses.begin(), task.accesses.end(),
                                   [&](const TaskAccess& other) { return other.array == access.array; });
    if (same == task.accesses.end()) task.accesses.push_back(access);
    else if (same->mode != access.mode) same->mode = AccessMode::InOut;
  }
  const auto known = std::find(kernels_.begin(), kernels_.end(), kernel);
  task.kernel = static_cast<KernelId>(known - kernels_.begin());
  if (known == kernels_.end()) kernels_.push_back(kernel);

  std::vector<TaskId> before;
  for (const TaskAccess& access : task.accesses) {
    ArrayUses& uses = arrays_[static_cast<std::size_t>(access.array)];
    if (uses.last_writer != none) before.push_back(uses.last_writer);
    uses.users.push_back(id);
    if (access.writes()) {
      before.insert(before.end(), uses.readers.begin(), uses.readers.end());
      uses.last_writer = id;
      uses.readers.clear();
    } else {
      uses.readers.push_back(id);
    }
  }
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  tasks_.push_back(std::move(task));
  successors_.emplace_back();
  for (const TaskId other : before) successors_[static_cast<std::size_t>(other)].push_back(id);
  predecessors_.push_back(std::move(before));
  return id;
}

void TaskGraph::add_dependency(TaskId before, TaskId after) {
  for (const TaskId task : {before, after})
    if (task < 0 || task >= num_tasks())
      throw TaskError("a dependency names the task number " + std::to_string(task) + " of a graph that has " +
                      std::to_string(num_tasks()));
  std::vector<TaskId>& known = predecessors_[static_cast<std::size_t>(after)];
  if (std::find(known.begin(), known.end(), before) != known.end()) return;
  known.push_back(before);
  successors_[static_cast<std::size_t>(before)].push_back(after);
}

index_t TaskGraph::bytes_of(TaskId task) const {
  index_t bytes = 0;
  for (const TaskAccess& access : this->task(task).accesses) bytes += array(access.array).bytes;
  return bytes;
}

std::string TaskGraph::describe(TaskId id) const {
  const Task& task = this->task(id);
  std::string text = task.label;
  for (std::size_t k = 0; k < task.accesses.size(); ++k)
    text += (k == 0                          ? " of "
             : k + 1 == task.accesses.size() ? " and "
                                             : ", ") +
            array(task.accesses[k].array).label;
  return text;
}

std::vector<TaskId> TaskGraph::order() const {
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

void TaskGraph::require_acyclic() const {
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

std::vector<double> bottom_levels(const TaskGraph& graph) {
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
