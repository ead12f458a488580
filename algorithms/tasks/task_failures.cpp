// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/part_uses.hpp>
#include <strata/algorithms/tasks/task_failures.hpp>
#include <strata/algorithms/tasks/task_report.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using State = TaskEntry::State;

constexpr int before_all = -1;             // in place of a task: all of them come later
constexpr std::size_t fewest_kept = 1000;  // labels, and arrays

// Whether a use writes all of a part anew.
bool replaces(const TaskUse& use, const ArrayPart& part) {
  return use.mode == AccessMode::Out && covers(use.part, part);
}

bool is_lost(const CoherentState& array) { return !WholeCopies::lacking(array).empty(); }

}  // namespace

std::string list_of(const std::vector<std::string>& names, long count) {
  constexpr std::size_t most = 8;
  const std::size_t named = std::min(names.size(), most);
  std::string text;
  for (std::size_t k = 0; k < named; ++k) text += (k == 0 ? "\"" : ", \"") + names[k] + "\"";
  const long others = count - static_cast<long>(named);
  return text + (others > 0 ? " and " + std::to_string(others) + " more" : "");
}
std::string list_of(const std::vector<std::string>& names) {
  return list_of(names, static_cast<long>(names.size()));
}

TaskFailures::TaskFailures(std::string label, bool is_of_scope, int window)
    : label_(std::move(label)),
      is_of_scope_(is_of_scope),
      most_labels_(std::max(fewest_kept, static_cast<std::size_t>(window))),
      many_harmed_(fewest_kept) {}

bool TaskFailures::has_any() const {
  return num_failed_ > 0 || !unwritten_.empty() ||
         std::any_of(harmed_.begin(), harmed_.end(),
                     [](const auto& known) { return known.second.has_lost && is_lost(*known.second.array); });
}

void TaskFailures::forget_dead_arrays() {
  if (harmed_.size() < many_harmed_) return;
  std::erase_if(harmed_, [](const auto& known) { return known.second.array.is_only(); });
  many_harmed_ = std::max(fewest_kept, 2 * harmed_.size());
}

void TaskFailures::add(const Entry& task, const std::string& error) {
  task.entry->state = State::Failed;
  if (num_failed_++ == 0) first_error_ = error;
  if (!is_of_scope_ || failed_.size() < most_labels_) failed_.push_back(task.entry->label);
  set_not_done(task);
}

void TaskFailures::set_not_done(const Entry& task) {
  if (!is_of_scope_) not_done_.insert(task.number);
  else task.entry->outcome->is_not_done = true;
  add_missing(task);
}

TaskFailures::Harmed& TaskFailures::harmed(const Ref<CoherentState>& array) {
  Harmed& known = harmed_[array.get()];
  known.array = array;
  return known;
}

void TaskFailures::set_reported(const Ref<CoherentState>& array) {
  WholeCopies::set_reported(*array);
  if (is_of_scope_) harmed(array).is_reported = true;
}

std::vector<Ref<CoherentState>> TaskFailures::reported_arrays() const {
  std::vector<Ref<CoherentState>> arrays;
  for (const auto& [state, known] : harmed_)
    if (known.is_reported) arrays.push_back(known.array);
  return arrays;
}

void TaskFailures::note_losses(const std::vector<Ref<CoherentState>>& arrays, const std::string& cause) {
  for (const Ref<CoherentState>& array : arrays) {
    set_reported(array);
    Harmed& known = harmed(array);
    known.has_lost = true;
    for (const Box& box : WholeCopies::lacking(*array)) known.parts.push_back({before_all, {box, {}}, false});
    if (cause_of_losses_.empty()) cause_of_losses_ = cause;
  }
}

void TaskFailures::add_unwritten(const std::string& label, const std::string& error) {
  if (unwritten_.empty()) cause_of_unwritten_ = error;
  unwritten_.push_back(label);
}

// What a task that failed, or was dropped, was to write. What is missing from an earlier task on says the
// same.
void TaskFailures::add_missing(const Entry& task) {
  for (const TaskUse& use : task.entry->uses) {
    if (!writes(use.mode)) continue;
    std::vector<Missing>& parts = harmed(use.array).parts;
    const bool is_known = std::any_of(parts.begin(), parts.end(), [&](const Missing& known) {
      return known.task < task.number && (!known.commutes || use.commutes) && covers(known.part, use.part);
    });
    if (!is_known) parts.push_back({task.number, use.part, use.commutes});
  }
}

// What a task writes anew is not missed by those after it.
void TaskFailures::forget_replaced(const Entry& task) {
  for (const TaskUse& use : task.entry->uses)
    if (const auto known = harmed_.find(use.array.get()); known != harmed_.end()) {
      Harmed& array = known->second;
      std::erase_if(array.parts, [&](const Missing& missing) {
        return missing.task < task.number && replaces(use, missing.part);
      });
      if (array.parts.empty() && !array.has_lost && !array.is_reported) harmed_.erase(known);
    }
}

// Whether the task depends on one that failed or was dropped: on what that was to write, or as it has to
// wait for it. An update does not depend on one with which it commutes, where the values are still there.
bool TaskFailures::lacks_results(const Entry& task) const {
  for (const TaskUse& use : task.entry->uses) {
    const auto known = harmed_.find(use.array.get());
    if (known == harmed_.end()) continue;
    for (const Missing& missing : known->second.parts)
      if (missing.task < task.number && !(missing.commutes && use.commutes) &&
          overlap(missing.part, use.part) && !replaces(use, missing.part))
        return true;
  }
  const std::vector<Ref<TaskOutcome>>& outcomes = task.entry->outcomes_before;
  return std::any_of(task.entry->after.begin(), task.entry->after.end(),
                     [&](int before) { return not_done_.count(before) > 0; }) ||
         std::any_of(outcomes.begin(), outcomes.end(),
                     [](const Ref<TaskOutcome>& before) { return before->is_not_done; });
}

void TaskFailures::drop_dependents(const std::vector<Entry>& tasks) {
  if (harmed_.empty() && num_failed_ == 0) return;
  for (const Entry& task : tasks) {
    if (task.entry->state != State::Waiting || task.entry->kind != TaskEntry::Kind::Task) continue;
    if (!lacks_results(task)) {
      forget_replaced(task);
      continue;
    }
    task.entry->state = State::Dropped;
    ++num_dropped_;
    if (!is_of_scope_ || dropped_.size() < most_labels_) dropped_[task.number] = task.entry->label;
    set_not_done(task);
  }
}

void TaskFailures::fail(long num_done) const {
  std::vector<std::string> dropped, lost;
  for (const auto& [number, label] : dropped_) dropped.push_back(label);
  for (const auto& [state, known] : harmed_)
    if (known.has_lost && is_lost(*known.array)) lost.push_back(known.array->label);
  std::string text = "the run of \"" + label_ + "\": ";
  text += num_failed_ == 0 ? "work beside its tasks failed"
          : num_failed_ == 1
              ? "a task failed, " + list_of(failed_)
              : std::to_string(num_failed_) + " tasks failed, " + list_of(failed_, num_failed_);
  const std::string& cause = num_failed_ > 0 ? first_error_
                             : !lost.empty() ? cause_of_losses_
                                             : cause_of_unwritten_;
  text += ": " + cause;
  if (num_dropped_ > 0)
    text += "\n" + std::to_string(num_dropped_) +
            (num_dropped_ == 1 ? " task that depends" : " tasks that depend") +
            " on this did not run: " + list_of(dropped, num_dropped_);
  if (!lost.empty())
    text += "\nThe values of " + list_of(lost) +
            " are lost in whole or in part: write them anew before they are read";
  if (!unwritten_.empty())
    text += "\nThe values of " + list_of(unwritten_) + " are in memory and not in files: save() writes them" +
            (cause == cause_of_unwritten_ ? "" : ", now: " + cause_of_unwritten_);
  text += "\n" + std::to_string(num_done) + (num_done == 1 ? " other task is done" : " other tasks are done");
  TaskFailed error(text, failed_, std::move(dropped), std::move(lost));
  error.num_failed = num_failed_;
  error.num_dropped = num_dropped_;
  throw error;
}

}  // namespace strata::inline STRATA_ABI::detail
