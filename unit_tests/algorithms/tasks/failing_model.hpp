// GraphModel: the tasks of a graph in their order, with those that reduce() makes, and which of them are to
// be dropped after others failed: those that depend on these, and none else where no values were lost.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "algorithms/tasks/task_programs.hpp"

namespace strata_tests {

class GraphModel {
 public:
  using Step = TaskProgram::Step;
  using Use = TaskProgram::Use;
  using Numbers = std::set<std::size_t>;  // of tasks
  struct Task {
    std::string label;
    enum class Kind { Step, Clear, Join, Discard } kind;
    std::size_t step, array, copy;
    std::vector<Use> uses;
    std::vector<std::size_t> after;
  };

  explicit GraphModel(const TaskProgram& program)
      : program_(program), num_values_(program.num_arrays), contributions_(program.num_arrays) {}

  /// As TaskGraph does it. The number of the task.
  std::size_t add(std::size_t number, const std::string& label) {
    const Step& step = program_.steps[number];
    Task task{label, Task::Kind::Step, number, 0, 0, program_.uses_of(step), {}};
    const bool contributes = step.update == Step::Update::Reduce &&
                             (step.kind == Step::Kind::Add || step.kind == Step::Kind::Call);
    if (contributes) {
      task.copy = next_copy(step.y);
      std::erase_if(task.uses, [&](const Use& use) { return use.array == step.y; });
      task.uses.push_back({task.copy, 0, program_.items, true, true, true});
    } else {
      join(step.y);
    }
    join(step.x);
    if (step.kind == Step::Kind::Mix) join(step.z);
    tasks_.push_back(std::move(task));
    return tasks_.size() - 1;
  }
  void add_hint(std::size_t array, bool discards) {
    join(array);
    if (discards) tasks_.push_back({"", Task::Kind::Discard, 0, array, 0, {}, {}});
  }
  void set_after(std::size_t task, std::size_t before) { tasks_[task].after.push_back(before); }
  /// A run begins, or ends.
  void join_all() {
    for (const std::size_t array : std::vector<std::size_t>(pending_)) join(array);
  }

  const std::vector<Task>& tasks() const { return tasks_; }
  bool is_copy(std::size_t array) const { return array >= program_.num_arrays; }

  /// Tasks that depend on some that failed: on what these were to write, or as they are to come after them,
  /// and so on. So do those that use what was lost.
  Numbers dependents_of(const Numbers& failed, const std::set<std::size_t>& lost = {}) const {
    Numbers found;
    std::vector<Use> missing;
    for (std::size_t number = 0; number < tasks_.size(); ++number) {
      const Task& task = tasks_[number];
      bool depends = std::any_of(task.after.begin(), task.after.end(), [&](std::size_t before) {
        return failed.count(before) + found.count(before) > 0;
      });
      for (const Use& use : task.uses) {
        depends = depends || (lost.count(use.array) > 0 && !(is_whole(use) && !use.reads));
        for (const Use& other : missing) depends = depends || lacks(use, other);
      }
      const bool has_failed = failed.count(number) > 0;
      if (depends && !has_failed) found.insert(number);
      for (const Use& use : task.uses) {
        if (!use.writes) continue;
        if (depends || has_failed) missing.push_back(use);
        else if (!use.reads) std::erase_if(missing, [&](const Use& other) { return covers(use, other); });
      }
    }
    return found;
  }

  /// The values of the program's arrays where some tasks did not run; of those whose values are discarded,
  /// and were not written since, none.
  std::vector<std::vector<Word>> values(const Numbers& left_out) const {
    std::vector<std::vector<Word>> all = program_.initial_values();
    all.resize(num_values_, std::vector<Word>(static_cast<std::size_t>(program_.items)));
    std::vector<bool> is_known(num_values_, true);
    for (std::size_t number = 0; number < tasks_.size(); ++number) {
      const Task& task = tasks_[number];
      if (task.kind == Task::Kind::Discard) is_known[task.array] = false;
      if (left_out.count(number) > 0) continue;
      for (const Use& use : task.uses)
        if (use.writes && !use.reads && is_whole(use)) is_known[use.array] = true;
      run(task, all);
    }
    all.resize(program_.num_arrays);
    for (std::size_t a = 0; a < all.size(); ++a)
      if (!is_known[a]) all[a].clear();
    return all;
  }

 private:
  // As ContributionCopies of one array.
  struct Contributions {
    std::vector<std::size_t> copies;
    std::size_t open = 0, next = 0;
  };

  bool is_whole(const Use& use) const { return use.begin == 0 && use.end == program_.items; }
  static bool covers(const Use& use, const Use& other) {
    return use.array == other.array && use.begin <= other.begin && other.end <= use.end;
  }
  static bool lacks(const Use& use, const Use& missing) {
    if (use.array != missing.array || use.begin >= missing.end || missing.begin >= use.end) return false;
    return (use.reads || !covers(use, missing)) && !(use.commutes && missing.commutes);
  }

  std::size_t next_copy(std::size_t array) {
    Contributions& all = contributions_[array];
    if (all.open == 0) pending_.push_back(array);
    if (all.open == detail::most_contribution_copies) {
      all.next = (all.next + 1) % all.open;
      return all.copies[all.next];
    }
    if (all.open == all.copies.size()) all.copies.push_back(num_values_++);
    const std::size_t copy = all.copies[all.open++];
    tasks_.push_back({"clear contributions to " + name(array),
                      Task::Kind::Clear,
                      0,
                      array,
                      copy,
                      {{copy, 0, program_.items, false, true, false}},
                      {}});
    return copy;
  }
  void join(std::size_t array) {
    Contributions& all = contributions_[array];
    for (; all.open > 0; --all.open) {
      const std::size_t copy = all.copies[all.open - 1];
      tasks_.push_back(
          {"join contributions to " + name(array),
           Task::Kind::Join,
           0,
           array,
           copy,
           {{copy, 0, program_.items, true, false, false}, {array, 0, program_.items, true, true, false}},
           {}});
    }
    std::erase(pending_, array);
  }
  static std::string name(std::size_t array) { return "x" + std::to_string(array); }

  void run(const Task& task, std::vector<std::vector<Word>>& all) const {
    switch (task.kind) {
      case Task::Kind::Clear:
        std::fill(all[task.copy].begin(), all[task.copy].end(), Word{0});
        return;
      case Task::Kind::Join:
        for (std::size_t k = 0; k < all[task.array].size(); ++k) all[task.array][k] += all[task.copy][k];
        return;
      case Task::Kind::Discard:
        return;
      case Task::Kind::Step:
        break;
    }
    const Step& step = program_.steps[task.step];
    std::vector<Word>& out = all[task.copy > 0 ? task.copy : step.kind == Step::Kind::Mix ? step.z : step.y];
    for (index_t i = step.begin; i < step.end; ++i)
      out[static_cast<std::size_t>(i)] = program_.result(step, i, all[step.x], all[step.y], out);
  }

  const TaskProgram& program_;
  std::size_t num_values_;  // of the program's arrays, and of copies
  std::vector<Contributions> contributions_;
  std::vector<std::size_t> pending_;  // arrays that copies are to join, in the order in which these came
  std::vector<Task> tasks_;
};

/// Which tasks failed and were dropped, as far as labels say so: several of those that reduce() makes have
/// one.
class Explanations {
 public:
  Explanations(const GraphModel& model, const TaskFailed& error) : model_(model) {
    for (const std::string& label : error.failed) ++failed_[label];
    for (const std::string& label : error.dropped) ++dropped_[label];
    for (std::size_t k = 0; k < model.tasks().size(); ++k) by_label_[model.tasks()[k].label].push_back(k);
    by_label_.erase("");  // hints
  }
  /// Whether is_right(failed, dropped) for one of them; and whether all labels are those of tasks.
  template <class F>
  bool any(const F& is_right) const {
    for (const auto& counts : {failed_, dropped_})
      for (const auto& [label, count] : counts)
        if (by_label_.count(label) == 0) return false;
    return try_labels(by_label_.begin(), {}, {}, is_right);
  }

 private:
  using Numbers = GraphModel::Numbers;
  using ByLabel = std::map<std::string, std::vector<std::size_t>>;

  template <class F>
  bool try_labels(ByLabel::const_iterator label, const Numbers& failed, const Numbers& dropped,
                  const F& is_right) const {
    if (label == by_label_.end()) return is_right(failed, dropped);
    return try_tasks(label, 0, count_of(failed_, label->first), count_of(dropped_, label->first), failed,
                     dropped, is_right);
  }
  // The tasks of a label from `place` on, of which so many failed and were dropped.
  template <class F>
  bool try_tasks(ByLabel::const_iterator label, std::size_t place, int to_fail, int to_drop,
                 const Numbers& failed, const Numbers& dropped, const F& is_right) const {
    const int left = static_cast<int>(label->second.size() - place);
    if (to_fail + to_drop > left) return false;
    if (left == 0) return try_labels(std::next(label), failed, dropped, is_right);
    const auto with = [&](Numbers numbers) {
      numbers.insert(label->second[place]);
      return numbers;
    };
    return (to_drop > 0 &&
            try_tasks(label, place + 1, to_fail, to_drop - 1, failed, with(dropped), is_right)) ||
           (to_fail > 0 &&
            try_tasks(label, place + 1, to_fail - 1, to_drop, with(failed), dropped, is_right)) ||
           try_tasks(label, place + 1, to_fail, to_drop, failed, dropped, is_right);
  }
  static int count_of(const std::map<std::string, int>& counts, const std::string& label) {
    const auto known = counts.find(label);
    return known == counts.end() ? 0 : known->second;
  }

  const GraphModel& model_;
  std::map<std::string, int> failed_, dropped_;
  ByLabel by_label_;
};

}  // namespace strata_tests
