#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include <strata/algorithms/tasks/task_executor.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/files/partial_file.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

namespace {

// Uses of one array become one, which reads or writes what any of them does. Those of no element have no
// place in the order of an array's uses.
std::vector<TaskUse> joined(std::vector<TaskUse>&& uses, const std::string& label) {
  std::vector<TaskUse> result;
  for (TaskUse& use : uses) {
    if (use.part.empty()) continue;
    const auto same = std::find_if(result.begin(), result.end(),
                                   [&](const TaskUse& other) { return other.array == use.array; });
    if (same == result.end()) {
      result.push_back(std::move(use));
      continue;
    }
    if ((writes(same->mode) || writes(use.mode)) && overlap(same->part, use.part))
      throw AccessConflict("the task \"" + label + "\" declares \"" + use.array->label +
                           "\" twice, and one use writes what the other one uses: declare it once, as inout");
    use.part.visit([&](const Box& box) {
      if (!overlap(same->part, {box, {}})) same->part.add(box);
    });
    if (same->mode != use.mode) same->mode = AccessMode::InOut;
    same->is_whole = same->is_whole || use.is_whole;
    same->commutes = false;
  }
  return result;
}

}  // namespace

ContributionsLock::ContributionsLock(TaskGraphState& graph) : graph_(graph) {
  graph_.contributions_mutex.lock();
}
ContributionsLock::~ContributionsLock() { graph_.contributions_mutex.unlock(); }

void fail_contribution(const std::string& task, const CoherentState& array) {
  throw AccessConflict(
      "the task \"" + task + "\" declares \"" + array.label +
      "\" twice, once as reduce: it contributes to a private copy, and sees the array only in a "
      "task of its own");
}

int TaskGraphState::add(TaskEntry&& entry) {
  entry.uses = joined(std::move(entry.uses), entry.label);
  const std::lock_guard lock(mutex_);
  if (entry.kind == TaskEntry::Kind::Task) ++num_tasks_;
  tasks_.push_back(std::move(entry));
  return static_cast<int>(tasks_.size()) - 1;
}

void TaskGraphState::set_priority(int task, double value) {
  if (!std::isfinite(value))
    throw Error("the priority of the task \"" + entry(task).label + "\" of \"" + label + "\" is " +
                std::to_string(value) + ": it is a number");
  const std::lock_guard lock(mutex_);
  TaskEntry& changed = tasks_[static_cast<std::size_t>(task)];
  changed.priority = value;
  changed.has_priority = true;
}

void TaskGraphState::set_work(int task, double operations) {
  if (!(operations > 0) || std::isinf(operations))
    throw Error("the work of the task \"" + entry(task).label + "\" of \"" + label + "\" is " +
                std::to_string(operations) + " operations: more than 0 are needed");
  const std::lock_guard lock(mutex_);
  tasks_[static_cast<std::size_t>(task)].work = operations;
}

void TaskGraphState::add_after(int task, int before) {
  const std::lock_guard lock(mutex_);
  if (before >= task)
    throw Error("the task \"" + tasks_[static_cast<std::size_t>(task)].label + "\" of \"" + label +
                "\" is to wait for \"" + tasks_[static_cast<std::size_t>(before)].label +
                "\", which is not before it: a task waits for earlier ones");
  tasks_[static_cast<std::size_t>(task)].after.push_back(before);
}

int TaskGraphState::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(tasks_.size());
}

long TaskGraphState::num_tasks() const {
  const std::lock_guard lock(mutex_);
  return num_tasks_;
}

TaskEntry& TaskGraphState::entry(int task) {
  const std::lock_guard lock(mutex_);
  return tasks_[static_cast<std::size_t>(task)];
}

void TaskGraphState::clear() {
  const std::lock_guard lock(mutex_);
  if (is_running_)
    throw Error("the graph \"" + label + "\" is cleared while it runs: wait for the end of run()");
  tasks_.clear();
  num_tasks_ = 0;
  pending_.clear();
  joined_.clear();
  ++clears_;
}

int TaskGraphState::clears() const {
  const std::lock_guard lock(mutex_);
  return clears_;
}

void TaskGraphState::require_known(int clears) const {
  if (clears != this->clears())
    throw Error("a task of the graph \"" + label +
                "\" is named that clear() has removed: name those that were added since then");
}

PendingContributions* TaskGraphState::pending(const CoherentState& array, const std::string& type) const {
  for (const Pending& pending : pending_)
    if (pending.array.get() == &array && pending.type == type) return pending.contributions.get();
  return nullptr;
}

Ref<PendingContributions> TaskGraphState::take_joined(const CoherentState& array, const std::string& type) {
  const auto known = std::find_if(joined_.begin(), joined_.end(), [&](const Pending& joined) {
    return joined.array.get() == &array && joined.type == type;
  });
  if (known == joined_.end()) return {};
  const Ref<PendingContributions> contributions = known->contributions;
  joined_.erase(known);
  return contributions;
}

std::vector<TaskGraphState::Pending> TaskGraphState::take_pending(const CoherentState* array) {
  std::vector<Pending> taken, kept;
  for (Pending& pending : pending_) {
    const bool is_wanted = array == nullptr || pending.array.get() == array;
    (is_wanted ? taken : kept).push_back(std::move(pending));
  }
  pending_ = std::move(kept);
  return taken;
}

void TaskGraphState::begin_run() {
  const std::lock_guard lock(mutex_);
  if (is_running_)
    throw Error("the graph \"" + label + "\" is run while it runs: wait for the end of the other run()");
  is_running_ = true;
  for (TaskEntry& task : tasks_) task.state = TaskEntry::State::Waiting;
}

void TaskGraphState::end_run() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
}

}  // namespace detail

using detail::TaskEntry;

TaskHandle TaskHandle::priority(double value) const {
  graph_->require_known(clears_);
  graph_->set_priority(number_, value);
  return *this;
}
TaskHandle TaskHandle::work(double operations) const {
  graph_->require_known(clears_);
  graph_->set_work(number_, operations);
  return *this;
}
TaskHandle TaskHandle::after(const TaskHandle& other) const {
  if (other.graph_ != graph_)
    throw Error("a task of the graph \"" + graph_->label + "\" is to wait for one of \"" +
                other.graph_->label + "\": tasks wait for those of their own graph");
  graph_->require_known(clears_);
  graph_->require_known(other.clears_);
  graph_->add_after(number_, other.number_);
  return *this;
}

namespace {

std::string number_text(double value) {  // whatever the locale
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void write_file(const std::string& path, const std::string& text) {
  detail::PartialFile file;
  if (!file.create(path) || !file.write(text.data(), text.size(), 0) || !file.place())
    throw FileError("the graph cannot be written to \"" + path + "\": " + std::strerror(errno));
}

}  // namespace

TaskGraph::TaskGraph(std::string label) : state_(new detail::TaskGraphState(std::move(label))) {}
TaskGraph::~TaskGraph() { delete state_; }

long TaskGraph::size() const { return state_->num_tasks(); }
void TaskGraph::clear() { state_->clear(); }

TaskHandle TaskGraph::add(const std::string& label, detail::Ref<detail::TaskBody> body,
                          std::vector<detail::TaskUse> uses) {
  // launch() and call() hold the mutex of contributions.
  for (const detail::TaskUse& use : uses) join_contributions(use.array.get());
  TaskEntry entry;
  entry.label = label;
  entry.body = std::move(body);
  entry.uses = std::move(uses);
  const int clears = state_->clears();
  return {*state_, state_->add(std::move(entry)), clears};
}

detail::PendingContributions& TaskGraph::pending_contributions(
    const detail::Ref<detail::CoherentState>& array, const char* type,
    const detail::Function<detail::Ref<detail::PendingContributions>()>& make) {
  if (detail::PendingContributions* const known = state_->pending(*array, type)) return *known;
  join_contributions(array.get());  // those that join in another way
  detail::Ref<detail::PendingContributions> contributions = state_->take_joined(*array, type);
  if (!contributions) contributions = make();
  state_->add_pending({array, type, contributions});
  return *contributions;
}

void TaskGraph::join_contributions(const detail::CoherentState* array) {
  const detail::ContributionsLock lock(*state_);
  for (detail::TaskGraphState::Pending& pending : state_->take_pending(array)) {
    pending.contributions->join(*this);
    state_->add_joined(std::move(pending));
  }
}

void TaskGraph::add_hint(detail::TaskUse use, bool discards) {
  const detail::ContributionsLock lock(*state_);
  join_contributions(use.array.get());
  TaskEntry entry;
  entry.kind = discards ? TaskEntry::Kind::Discard : TaskEntry::Kind::WontUse;
  entry.uses.push_back(std::move(use));
  state_->add(std::move(entry));
}

TaskReport TaskGraph::run_on(const std::vector<detail::TaskPart>& parts, const TaskRunOptions& options) {
  return detail::TaskExecutor(*state_, parts, options, [this] { join_contributions(nullptr); }).run();
}

void TaskGraph::write_json(const std::string& path) const {
  using detail::json_quoted;
  std::map<const detail::CoherentState*, std::string> names;
  std::string arrays, tasks;
  std::map<std::string, int> used;  // of labels, several arrays may have one
  std::set<std::string> taken;
  const auto name_of = [&](const detail::CoherentState& array) {
    const auto [name, is_new] = names.emplace(&array, "");
    if (is_new) {
      int& number = used[array.label];
      do {
        name->second = number == 0 ? array.label : array.label + "#" + std::to_string(number);
        ++number;
      } while (!taken.insert(name->second).second);
      arrays += (arrays.empty() ? "    {\"name\": " : ",\n    {\"name\": ") + json_quoted(name->second) +
                ", \"bytes\": " + std::to_string(std::max<index_t>(detail::WholeCopies::bytes(array), 1)) +
                "}";
    }
    return name->second;
  };
  const int count = state_->size();
  for (int k = 0; k < count; ++k) {
    const TaskEntry& task = state_->entry(k);
    if (task.kind != TaskEntry::Kind::Task) continue;
    index_t bytes = 0;
    std::string lists[4];
    for (const detail::TaskUse& use : task.uses) {
      bytes += detail::WholeCopies::bytes(*use.array);
      std::string& list = lists[use.commutes                    ? 3
                                : use.mode == AccessMode::InOut ? 2
                                : use.mode == AccessMode::Out   ? 1
                                                                : 0];
      list += (list.empty() ? "" : ", ") + json_quoted(name_of(*use.array));
    }
    std::string text = "{\"name\": " + json_quoted(task.label + "#" + std::to_string(k)) +
                       ", \"kernel\": " + json_quoted(task.label) +
                       ", \"work\": " + number_text(task.work > 0 ? task.work : static_cast<double>(bytes));
    const char* const keys[] = {"in", "out", "inout", "commute"};
    for (int mode = 0; mode < 4; ++mode)
      if (!lists[mode].empty()) text += std::string(", \"") + keys[mode] + "\": [" + lists[mode] + "]";
    if (!task.after.empty()) {
      std::string before;
      for (const int other : task.after)
        before += (before.empty() ? "" : ", ") +
                  json_quoted(state_->entry(other).label + "#" + std::to_string(other));
      text += ", \"after\": [" + before + "]";
    }
    tasks += (tasks.empty() ? "    " : ",\n    ") + text + "}";
  }
  write_file(path, "{\n  \"arrays\": [\n" + arrays + "\n  ],\n  \"tasks\": [\n" + tasks + "\n  ]\n}\n");
}

std::string TaskReport::text() const {
  std::string result = std::to_string(tasks) + " tasks in " + std::to_string(seconds) + " s by " + scheduler +
                       ": " + string_from_bytes(bytes_to_devices) + " to devices (" +
                       string_from_bytes(bytes_reloaded) + " again), " +
                       string_from_bytes(bytes_from_devices) + " from devices, " +
                       string_from_bytes(bytes_between_devices) + " between devices; " +
                       std::to_string(decision_seconds) + " s for decisions\n";
  for (const TaskDeviceReport& device : devices)
    result += "  " + device.device + ": " + std::to_string(device.tasks) + " tasks, " +
              string_from_bytes(device.bytes_in) + " in, " + string_from_bytes(device.bytes_out) + " out\n";
  return result;
}

TaskFailed::TaskFailed(const std::string& what, std::vector<std::string> failed_tasks,
                       std::vector<std::string> dropped_tasks, std::vector<std::string> lost_arrays)
    : Error(what),
      failed(std::move(failed_tasks)),
      dropped(std::move(dropped_tasks)),
      lost(std::move(lost_arrays)) {}

}  // namespace strata::inline STRATA_ABI
