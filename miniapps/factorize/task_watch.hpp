// TaskWatch: sees what runs of graphs of tasks do, by standing between the run and its scheduler: shows how
// far they are, and keeps the order of tasks and the graph, for pictures and strata-simulate.
//
//   TaskWatch watch("data-aware", request);
//   options.run.make_scheduler = watch.maker();     // the watch outlives the run
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/core/function.hpp>
#include <strata/miniapps/common/progress.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// A task that updated the tile (m, n) with column k.
struct TileTask {
  int device, k, m, n;
};

class TaskWatch {
 public:
  using Maker = strata::detail::Function<tasks::TaskScheduler*(const tasks::SchedulerOptions&)>;

  /// The scheduler that decides. `keeps_tasks`: order and graph are kept, which takes some hundred bytes a
  /// task.
  TaskWatch(std::string scheduler, bool keeps_tasks)
      : scheduler_(std::move(scheduler)), keeps_tasks_(keeps_tasks) {}

  /// For TaskRunOptions::make_scheduler.
  Maker maker();
  /// A run of so much work is next: what was kept of the last one is forgotten.
  void begin(miniapp::ProgressStyle style, double work);
  /// It is over: runs that come now are not watched.
  void end() {
    progress_.reset();
    is_watching_ = false;
  }

  /// Tasks over tiles in the order in which they ended.
  const std::vector<TileTask>& order() const { return order_; }
  /// The graph of the last run, in the format of TaskGraph::write_json.
  std::string graph_json() const;

 private:
  friend class WatchedScheduler;
  struct KnownTask {
    std::string kernel;
    double work;
    std::vector<tasks::TaskAccess> accesses;  // of arrays of the watch
    bool is_done;
  };

  void start(const tasks::TaskDag& graph);
  void done(const tasks::Task& task, const tasks::TaskDag& graph, tasks::TaskId id, int device);
  int array_of(const tasks::TaskArray& array);

  std::string scheduler_;
  bool keeps_tasks_, is_watching_ = false;
  std::unique_ptr<miniapp::Progress> progress_;
  double unit_ = 1, work_done_ = 0;
  long tasks_done_ = 0;
  std::vector<TileTask> order_;
  std::vector<tasks::TaskArray> arrays_;
  std::unordered_map<std::string, int> array_ids_;
  std::vector<KnownTask> tasks_;
  std::size_t window_begin_ = 0;  // in tasks_
};

}  // namespace strata::inline STRATA_ABI::factorize
