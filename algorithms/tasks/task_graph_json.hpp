// TaskGraphJson: the text of a graph for strata-simulate, made a task at a time
// (miniapps/simulate/README.md has the format).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include <strata/algorithms/tasks/task_graph_state.hpp>

namespace strata::inline STRATA_ABI {
class TaskCosts;
}
namespace strata::inline STRATA_ABI::detail {

class TaskGraphJson {
 public:
  /// Tasks that `costs` knows get what they took, by kind of device; null: none.
  explicit TaskGraphJson(const TaskCosts* costs) : costs_(costs) {}

  /// Task `number`, and those of its arrays that are new. Hints add nothing.
  void add(int number, const TaskEntry& task);
  /// Of all so far.
  std::string text() const;
  /// Between tasks of a scope: of arrays that nobody else has only what was written of them stays.
  void forget_dead_arrays();

 private:
  struct Name {
    Ref<CoherentState> array;  // whose address no other array gets meanwhile
    std::string text;
  };

  const std::string& name_of(const TaskUse& use);

  const TaskCosts* costs_;
  std::string arrays_, tasks_;
  std::map<const CoherentState*, Name> names_;
  std::map<std::string, int> used_;  // of labels: several arrays may have one
  std::set<std::string> taken_;
  std::map<int, std::string> task_names_;
};

}  // namespace strata::inline STRATA_ABI::detail
