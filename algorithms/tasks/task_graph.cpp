// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/tasks/task_executor.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_graph_json.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/text_file.hpp>

namespace strata::inline STRATA_ABI {

class TaskGraph::Tasks final : public detail::TaskAdder {
 public:
  explicit Tasks(std::string label) : TaskAdder(state), state(std::move(label), false) {}

  detail::TaskGraphState state;
};

TaskGraph::TaskGraph(std::string label) : tasks_(new Tasks(std::move(label))) {}
TaskGraph::~TaskGraph() { delete tasks_; }

long TaskGraph::size() const { return tasks_->state.num_tasks(); }
void TaskGraph::clear() { tasks_->state.clear(); }

detail::TaskAdder& TaskGraph::adder() { return *tasks_; }
TaskHandle TaskGraph::handle(int number) const { return {tasks_->state, number, tasks_->state.clears()}; }

TaskReport TaskGraph::run_on(const std::vector<detail::TaskPart>& parts, const TaskRunOptions& options) {
  return detail::TaskExecutor(tasks_->state, parts, options, [this] { tasks_->join_contributions(nullptr); })
      .run();
}

void TaskGraph::write_json(const std::string& path) const { write_graph(path, nullptr); }
void TaskGraph::write_json(const std::string& path, const TaskCosts& costs) const {
  write_graph(path, &costs);
}
void TaskGraph::write_graph(const std::string& path, const TaskCosts* costs) const {
  detail::TaskGraphJson json(costs);
  for (int k = 0; k < tasks_->state.size(); ++k) json.add(k, tasks_->state.entry(k));
  detail::write_text_file(path, "the graph", json.text());
}

}  // namespace strata::inline STRATA_ABI
