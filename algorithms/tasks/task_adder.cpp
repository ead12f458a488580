// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/tasks/task_adder.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

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

int TaskAdder::add(const std::string& label, Ref<TaskBody> body, std::vector<TaskUse> uses) {
  // launch() and call() hold the mutex of contributions.
  for (const TaskUse& use : uses) join_contributions(use.array.get());
  TaskEntry entry;
  entry.label = label;
  entry.body = std::move(body);
  entry.uses = std::move(uses);
  return add_entry(std::move(entry));
}

int TaskAdder::add_entry(TaskEntry&& entry) {
  entry.join_uses();
  adding(entry);
  const int number = state_.add(std::move(entry));
  added();
  return number;
}

void TaskAdder::add_hint(TaskUse use, bool discards) {
  const UsedArray array{use.array.get(), writes(use.mode)};
  const Adding adding(*this, &array, 1);
  const ContributionsLock lock(state_);
  join_contributions(use.array.get());
  add_hint_entry(std::move(use), discards);
}

void TaskAdder::add_hint_entry(TaskUse&& use, bool discards) {
  TaskEntry entry;
  entry.kind = discards ? TaskEntry::Kind::Discard : TaskEntry::Kind::WontUse;
  entry.uses.push_back(std::move(use));
  add_entry(std::move(entry));
}

PendingContributions& TaskAdder::pending_contributions(const Ref<CoherentState>& array, const char* type,
                                                       const Function<Ref<PendingContributions>()>& make) {
  if (PendingContributions* const known = state_.pending(*array, type)) return *known;
  join_contributions(array.get());  // those that join in another way
  Ref<PendingContributions> contributions = state_.take_joined(*array, type);
  if (!contributions) contributions = make();
  begin_contributions(*array);
  state_.add_pending({array, type, contributions});
  return *contributions;
}

void TaskAdder::join_contributions(const CoherentState* array) {
  const ContributionsLock lock(state_);
  for (TaskGraphState::Pending& pending : state_.take_pending(array)) {
    pending.contributions->join(*this);
    end_contributions(*pending.array);
    // A graph runs again with the same copies; those of a scope go with their tasks.
    if (!state_.is_scope) state_.add_joined(std::move(pending));
  }
}

}  // namespace strata::inline STRATA_ABI::detail
