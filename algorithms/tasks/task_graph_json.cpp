// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <utility>

#include <strata/algorithms/tasks/task_costs.hpp>
#include <strata/algorithms/tasks/task_graph_json.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

using profiling::json_quoted;

namespace {

std::string number_text(double value) {  // whatever the locale
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// {"Cuda": 0.001, "Threads": 0.02}; nothing: not measured.
std::string seconds_text(const std::map<std::string, double>& seconds) {
  std::string text;
  for (const auto& [device, value] : seconds)
    if (value > 0) text += (text.empty() ? "{" : ", ") + json_quoted(device) + ": " + number_text(value);
  return text.empty() ? text : text + "}";
}

}  // namespace

const std::string& TaskGraphJson::name_of(const TaskUse& use) {
  const CoherentState& array = *use.array;
  const auto [known, is_new] = names_.try_emplace(&array);
  std::string& name = known->second.text;
  if (is_new) {
    known->second.array = use.array;
    int& number = used_[array.label];
    do {
      name = number == 0 ? array.label : array.label + "#" + std::to_string(number);
      ++number;
    } while (!taken_.insert(name).second);
    arrays_ += (arrays_.empty() ? "    {\"name\": " : ",\n    {\"name\": ") + json_quoted(name) +
               ", \"bytes\": " + std::to_string(bytes_of(use)) + "}";
  }
  return name;
}

void TaskGraphJson::forget_dead_arrays() {
  std::erase_if(names_, [](const auto& known) { return known.second.array.is_only(); });
}

void TaskGraphJson::add(int number, const TaskEntry& task) {
  if (task.kind != TaskEntry::Kind::Task) return;
  std::string lists[4];
  for (const TaskUse& use : task.uses) {
    std::string& list = lists[use.commutes                    ? 3
                              : use.mode == AccessMode::InOut ? 2
                              : use.mode == AccessMode::Out   ? 1
                                                              : 0];
    list += (list.empty() ? "" : ", ") + json_quoted(name_of(use));
  }
  const std::string name = json_quoted(task.label + "#" + std::to_string(number));
  std::string text = "{\"name\": " + name + ", \"kernel\": " + json_quoted(task.label) +
                     ", \"work\": " + number_text(task.work_or_bytes());
  if (costs_ != nullptr)
    if (const std::string seconds = seconds_text(costs_->seconds(task.label, task.bytes())); !seconds.empty())
      text += ", \"seconds\": " + seconds;
  const char* const keys[] = {"in", "out", "inout", "commute"};
  for (int mode = 0; mode < 4; ++mode)
    if (!lists[mode].empty()) text += std::string(", \"") + keys[mode] + "\": [" + lists[mode] + "]";
  std::string before;
  for (const int other : task.after)
    if (const auto known = task_names_.find(other); known != task_names_.end())
      before += (before.empty() ? "" : ", ") + known->second;
  if (!before.empty()) text += ", \"after\": [" + before + "]";
  tasks_ += (tasks_.empty() ? "    " : ",\n    ") + text + "}";
  task_names_.emplace(number, name);
}

std::string TaskGraphJson::text() const {
  return "{\n  \"arrays\": [\n" + arrays_ + "\n  ],\n  \"tasks\": [\n" + tasks_ + "\n  ]\n}\n";
}

}  // namespace strata::inline STRATA_ABI::detail
