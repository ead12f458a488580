// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <map>
#include <set>

#include <strata/algorithms/tasks/task_executor.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/text_file.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI {

using detail::TaskEntry;

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

namespace {

std::string number_text(double value) {  // whatever the locale
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

void TaskGraph::write_json(const std::string& path) const {
  using detail::profiling::json_quoted;
  std::map<const detail::CoherentState*, std::string> names;
  std::string arrays, tasks;
  std::map<std::string, int> used;  // of labels, several arrays may have one
  std::set<std::string> taken;
  const auto name_of = [&](const detail::TaskUse& use) {
    const detail::CoherentState& array = *use.array;
    const auto [name, is_new] = names.emplace(&array, "");
    if (is_new) {
      int& number = used[array.label];
      do {
        name->second = number == 0 ? array.label : array.label + "#" + std::to_string(number);
        ++number;
      } while (!taken.insert(name->second).second);
      arrays += (arrays.empty() ? "    {\"name\": " : ",\n    {\"name\": ") + json_quoted(name->second) +
                ", \"bytes\": " + std::to_string(detail::bytes_of(use)) + "}";
    }
    return name->second;
  };
  const int count = tasks_->state.size();
  for (int k = 0; k < count; ++k) {
    const TaskEntry& task = tasks_->state.entry(k);
    if (task.kind != TaskEntry::Kind::Task) continue;
    std::string lists[4];
    for (const detail::TaskUse& use : task.uses) {
      std::string& list = lists[use.commutes                    ? 3
                                : use.mode == AccessMode::InOut ? 2
                                : use.mode == AccessMode::Out   ? 1
                                                                : 0];
      list += (list.empty() ? "" : ", ") + json_quoted(name_of(use));
    }
    std::string text = "{\"name\": " + json_quoted(task.label + "#" + std::to_string(k)) +
                       ", \"kernel\": " + json_quoted(task.label) +
                       ", \"work\": " + number_text(task.work_or_bytes());
    const char* const keys[] = {"in", "out", "inout", "commute"};
    for (int mode = 0; mode < 4; ++mode)
      if (!lists[mode].empty()) text += std::string(", \"") + keys[mode] + "\": [" + lists[mode] + "]";
    if (!task.after.empty()) {
      std::string before;
      for (const int other : task.after)
        before += (before.empty() ? "" : ", ") +
                  json_quoted(tasks_->state.entry(other).label + "#" + std::to_string(other));
      text += ", \"after\": [" + before + "]";
    }
    tasks += (tasks.empty() ? "    " : ",\n    ") + text + "}";
  }
  detail::write_text_file(
      path, "the graph", "{\n  \"arrays\": [\n" + arrays + "\n  ],\n  \"tasks\": [\n" + tasks + "\n  ]\n}\n");
}

}  // namespace strata::inline STRATA_ABI
