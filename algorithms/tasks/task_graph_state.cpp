// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

bool has_several_uses_of_one(const std::vector<TaskUse>& uses) {
  for (std::size_t k = 0; k < uses.size(); ++k)
    for (std::size_t other = 0; other < k; ++other)
      if (uses[k].array == uses[other].array) return true;
  return false;
}

}  // namespace

void TaskEntry::join_uses() {
  if (kind != Kind::Task) return;
  // Those of no element have no place in the order of an array's uses.
  std::erase_if(uses, [](const TaskUse& use) { return use.part.empty(); });
  if (!has_several_uses_of_one(uses)) return;
  std::vector<TaskUse> result;
  for (TaskUse& use : uses) {
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
  uses = std::move(result);
}

index_t bytes_of(const TaskUse& use) { return std::max<index_t>(WholeCopies::bytes(*use.array), 1); }

index_t TaskEntry::bytes() const {
  index_t sum = 0;
  for (const TaskUse& use : uses) sum += bytes_of(use);
  return sum;
}

int TaskGraphState::add(TaskEntry&& entry) {
  const std::lock_guard lock(mutex_);
  if (end() == std::numeric_limits<int>::max())
    throw Error("\"" + label + "\" has had " + std::to_string(end()) +
                " tasks, and no number is left for another one: begin a new one");
  const int number = end();
  if (is_scope) {
    const std::thread::id thread = std::this_thread::get_id();
    std::erase_if(open_, [&](const Open& open) { return open.thread == thread; });
    if (entry.kind == TaskEntry::Kind::Task) {
      open_.push_back({number, thread});
      entry.outcome = Ref<TaskOutcome>(new TaskOutcome);
    }
    num_open_ = open_.size();
  }
  if (entry.kind == TaskEntry::Kind::Task) ++num_tasks_;
  tasks_.push_back(std::move(entry));
  return number;
}

void TaskGraphState::close(int task) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const Open& open) { return open.task == task; });
  num_open_ = open_.size();
}

bool TaskGraphState::close_of_thread() {
  if (num_open_ == 0) return false;
  const std::lock_guard lock(mutex_);
  const bool has_closed =
      std::erase_if(open_, [](const Open& open) { return open.thread == std::this_thread::get_id(); }) > 0;
  num_open_ = open_.size();
  return has_closed;
}

void TaskGraphState::close_all() {
  const std::lock_guard lock(mutex_);
  open_.clear();
  num_open_ = 0;
}

int TaskGraphState::closed_end() const {
  const std::lock_guard lock(mutex_);
  int first = end();
  for (const Open& open : open_) first = std::min(first, open.task);
  return first;
}

std::string TaskGraphState::label_of_open() const {
  const std::lock_guard lock(mutex_);
  const auto first = std::min_element(open_.begin(), open_.end(),
                                      [](const Open& a, const Open& b) { return a.task < b.task; });
  return first == open_.end() ? "" : tasks_[static_cast<std::size_t>(first->task - forgotten_)].label;
}

// Under the lock.
TaskEntry& TaskGraphState::changeable(int task) {
  if (is_scope &&
      std::none_of(open_.begin(), open_.end(), [&](const Open& open) { return open.task == task; }))
    throw Error("a task of \"" + label +
                "\" is changed that may have begun: give its priority, its work and the tasks for which it "
                "waits in the statement that adds it");
  return known(task);
}

void TaskGraphState::set_priority(int task, double value) {
  const std::lock_guard lock(mutex_);
  TaskEntry& changed = changeable(task);
  if (!std::isfinite(value))
    throw Error("the priority of the task \"" + changed.label + "\" of \"" + label + "\" is " +
                std::to_string(value) + ": it is a number");
  changed.priority = value;
  changed.has_priority = true;
}

void TaskGraphState::set_work(int task, double operations) {
  const std::lock_guard lock(mutex_);
  TaskEntry& changed = changeable(task);
  if (!(operations > 0) || std::isinf(operations))
    throw Error("the work of the task \"" + changed.label + "\" of \"" + label + "\" is " +
                std::to_string(operations) + " operations: more than 0 are needed");
  changed.work = operations;
}

void TaskGraphState::add_after(int task, int before, const Ref<TaskOutcome>& outcome) {
  const std::lock_guard lock(mutex_);
  TaskEntry& changed = changeable(task);
  if (before >= task)
    throw Error("the task \"" + changed.label + "\" of \"" + label + "\" is to wait for \"" +
                known(before).label + "\", which is not before it: a task waits for earlier ones");
  changed.after.push_back(before);
  if (outcome) changed.outcomes_before.push_back(outcome);
}

Ref<TaskOutcome> TaskGraphState::outcome_of(int task) const {
  const std::lock_guard lock(mutex_);
  return task < forgotten_ ? Ref<TaskOutcome>() : tasks_[static_cast<std::size_t>(task - forgotten_)].outcome;
}

int TaskGraphState::size() const {
  const std::lock_guard lock(mutex_);
  return end();
}

long TaskGraphState::num_tasks() const {
  const std::lock_guard lock(mutex_);
  return num_tasks_;
}

TaskEntry& TaskGraphState::entry(int task) {
  const std::lock_guard lock(mutex_);
  return known(task);
}

std::vector<TaskEntry*> TaskGraphState::entries(int first, int end) {
  std::vector<TaskEntry*> result;
  result.reserve(static_cast<std::size_t>(end - first));
  const std::lock_guard lock(mutex_);
  for (int k = first; k < end; ++k) result.push_back(&known(k));
  return result;
}

void TaskGraphState::forget_before(int task) {
  std::deque<TaskEntry> gone;  // arrays and functions go without the lock
  const std::lock_guard lock(mutex_);
  for (; forgotten_ < task; ++forgotten_) {
    gone.push_back(std::move(tasks_.front()));
    tasks_.pop_front();
  }
}

std::size_t TaskGraphState::num_kept() const {
  const std::lock_guard lock(mutex_);
  return tasks_.size();
}

void TaskGraphState::clear() {
  const std::lock_guard lock(mutex_);
  if (is_running_)
    throw Error("the graph \"" + label + "\" is cleared while it runs: wait for the end of run()");
  tasks_.clear();
  num_tasks_ = 0;
  pending_.clear();
  num_pending_ = 0;
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

void TaskGraphState::add_pending(Pending&& pending) {
  if (pending_.empty()) pending_since_ = std::chrono::steady_clock::now();
  pending_.push_back(std::move(pending));
  num_pending_ = pending_.size();
}

bool TaskGraphState::has_pending_for(std::chrono::steady_clock::duration time) {
  if (!has_pending()) return false;
  const std::lock_guard lock(contributions_mutex);
  return has_pending() && std::chrono::steady_clock::now() - pending_since_ > time;
}

std::vector<TaskGraphState::Pending> TaskGraphState::take_pending(const CoherentState* array) {
  std::vector<Pending> taken, kept;
  if (pending_.empty()) return taken;
  for (Pending& pending : pending_) {
    const bool is_wanted = array == nullptr || pending.array.get() == array;
    (is_wanted ? taken : kept).push_back(std::move(pending));
  }
  pending_ = std::move(kept);
  num_pending_ = pending_.size();
  return taken;
}

void TaskGraphState::begin_run() {
  const std::lock_guard lock(mutex_);
  if (is_running_)
    throw Error("the graph \"" + label + "\" is run while it runs: wait for the end of the other run()");
  is_running_ = true;
  if (is_scope) return;
  for (TaskEntry& task : tasks_) task.state = TaskEntry::State::Waiting;
}

void TaskGraphState::end_run() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
}

}  // namespace strata::inline STRATA_ABI::detail
