// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/miniapps/factorize/task_watch.hpp>

namespace strata::inline STRATA_ABI::factorize {

namespace {

using strata::detail::profiling::json_quoted;

// Plans have labels in quotes, for messages.
std::string without_quotes(const std::string& label) {
  if (label.size() >= 2 && label.front() == '"' && label.back() == '"')
    return label.substr(1, label.size() - 2);
  return label;
}

// Row and column of the tile "a(3, 1)", in a file ".../tile_3_1"; false: the array is no tile.
bool tile_of(const std::string& label, int& row, int& column) {
  const auto read = [&](std::size_t begin, std::size_t end, int& value) {
    const auto [stop, error] = std::from_chars(label.data() + begin, label.data() + end, value);
    return error == std::errc() && stop == label.data() + end;
  };
  const std::string file = "/tile_";
  if (const std::size_t at = label.rfind(file), line = label.rfind('_'); at != std::string::npos)
    return read(at + file.size(), line, row) && read(line + 1, label.size(), column);
  const std::size_t open = label.rfind('('), comma = label.find(", ", open), close = label.find(')', open);
  if (open == std::string::npos || comma == std::string::npos || close == std::string::npos) return false;
  return read(open + 1, comma, row) && read(comma + 2, close, column);
}
// An array beside the matrix: "state of a(0, 0)", "inverse of L in a(0, 0)".
bool is_of_a_tile(const std::string& label) {
  for (const char* what : {"state", "inverse", "pivots", "marks", "rows", "panel"})
    if (label.starts_with(what + std::string(" of "))) return true;
  return false;
}

std::string number_text(double value) {  // whatever the locale
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace

// Reports starts and ends.
class WatchedScheduler final : public tasks::ForwardingScheduler {
 public:
  WatchedScheduler(TaskWatch& watch, std::unique_ptr<tasks::TaskScheduler> scheduler)
      : ForwardingScheduler(std::move(scheduler)), watch_(watch) {}

  void start(const tasks::SchedulerView& view) override {
    graph_ = &view.graph;
    watch_.start(view.graph);
    ForwardingScheduler::start(view);
  }
  void done(tasks::TaskId task, tasks::DeviceId device) override {
    ForwardingScheduler::done(task, device);
    watch_.done(graph_->task(task), *graph_, task, device);
  }

 private:
  TaskWatch& watch_;
  const tasks::TaskDag* graph_ = nullptr;
};

TaskWatch::Maker TaskWatch::maker() {
  return [this](const tasks::SchedulerOptions& options) -> tasks::TaskScheduler* {
    return new WatchedScheduler(*this, tasks::make_scheduler(scheduler_, options));
  };
}

void TaskWatch::begin(miniapp::ProgressStyle style, double work) {
  const bool is_large = work >= 1e12;
  unit_ = is_large ? 1e9 : 1e6;
  progress_ = std::make_unique<miniapp::Progress>(style, is_large ? "GFLOP" : "MFLOP",
                                                  static_cast<index_t>(work / unit_));
  is_watching_ = true;
  work_done_ = 0;
  tasks_done_ = 0;
  order_.clear();
  arrays_.clear();
  array_ids_.clear();
  tasks_.clear();
  window_begin_ = 0;
}

// A window of a graph begins, or what is left of one begins again, as after a device ran out of memory.
void TaskWatch::start(const tasks::TaskDag& graph) {
  if (!keeps_tasks_ || !is_watching_) return;
  std::erase_if(tasks_, [](const KnownTask& task) { return !task.is_done; });
  window_begin_ = tasks_.size();
  for (tasks::TaskId id = 0; id < graph.num_tasks(); ++id) {
    const tasks::Task& task = graph.task(id);
    KnownTask known{without_quotes(task.label), task.work, task.accesses, false};
    for (tasks::TaskAccess& access : known.accesses) access.array = array_of(graph.array(access.array));
    tasks_.push_back(std::move(known));
  }
}

int TaskWatch::array_of(const tasks::TaskArray& array) {
  const std::string label = without_quotes(array.label);
  const auto [known, is_new] = array_ids_.emplace(label, static_cast<int>(arrays_.size()));
  if (is_new) arrays_.push_back({label, array.bytes});
  return known->second;
}

void TaskWatch::done(const tasks::Task& task, const tasks::TaskDag& graph, tasks::TaskId id, int device) {
  if (!is_watching_) return;
  work_done_ += task.work;
  ++tasks_done_;
  const index_t operations = static_cast<index_t>(work_done_ / unit_);
  if (progress_ && progress_->due(operations))
    progress_->show(operations, std::to_string(tasks_done_) + " tasks");
  if (!keeps_tasks_) return;
  tasks_[window_begin_ + static_cast<std::size_t>(id)].is_done = true;
  if (without_quotes(task.label).starts_with("swap")) return;  // rows change places, and no tile is updated
  // The first tile that is only read is that of op(A) at (m, k): where op(A) is A^T, the tile (k, m) of A.
  int first_row = -1, first_column = -1, row = 0, column = 0;
  for (const tasks::TaskAccess& access : task.accesses)
    if (first_row < 0 && !access.writes() &&
        tile_of(without_quotes(graph.array(access.array).label), row, column)) {
      first_row = row;
      first_column = column;
    }
  for (const tasks::TaskAccess& access : task.accesses) {
    const std::string label = without_quotes(graph.array(access.array).label);
    if (!access.writes() || is_of_a_tile(label) || !tile_of(label, row, column)) continue;
    const int k = first_row < 0 ? column : first_column == row ? first_row : first_column;
    order_.push_back({device, k, row, column});
  }
}

std::string TaskWatch::graph_json() const {
  std::string text = "{\n  \"arrays\": [";
  for (std::size_t k = 0; k < arrays_.size(); ++k)
    text += std::string(k == 0 ? "\n" : ",\n") + "    {\"name\": " + json_quoted(arrays_[k].label) +
            ", \"bytes\": " + std::to_string(arrays_[k].bytes) + "}";
  text += "\n  ],\n  \"tasks\": [";
  constexpr const char* keys[] = {"in", "out", "inout"};
  for (std::size_t k = 0; k < tasks_.size(); ++k) {
    const KnownTask& task = tasks_[k];
    std::string lists[3];
    for (const tasks::TaskAccess& access : task.accesses) {
      std::string& list = lists[!access.writes() ? 0 : !access.reads() ? 1 : 2];
      list += (list.empty() ? "" : ", ") + json_quoted(arrays_[static_cast<std::size_t>(access.array)].label);
    }
    text += std::string(k == 0 ? "\n" : ",\n") +
            "    {\"name\": " + json_quoted(task.kernel + "#" + std::to_string(k)) +
            ", \"kernel\": " + json_quoted(task.kernel) + ", \"work\": " + number_text(task.work);
    for (int mode = 0; mode < 3; ++mode)
      if (!lists[mode].empty()) text += std::string(", \"") + keys[mode] + "\": [" + lists[mode] + "]";
    text += "}";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace strata::inline STRATA_ABI::factorize
