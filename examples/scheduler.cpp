// A scheduler of tasks of one's own, and what it is worth on a machine that is only described:
// docs/scheduling.md.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <optional>

#include <strata/algorithms/tasks/plan/lru_order.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/plan/tiled.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>

using namespace strata;
using namespace strata::tasks;

//! [scheduler]
// Of all ready tasks, each device takes the one for which it has least to load; what was not used for longest
// leaves.
class LeastBytes final : public TaskScheduler {
 public:
  void start(const SchedulerView& view) override {
    view_.emplace(view);
    lru_.start(view);
  }

  // Events
  void ready(TaskId task, DeviceId) override { ready_.push_back(task); }
  void loaded(ArrayId array, DeviceId device) override { lru_.loaded(array, device); }
  void evicted(ArrayId array, DeviceId device) override { lru_.evicted(array, device); }
  void done(TaskId task, DeviceId device) override { lru_.done(task, device); }

  // Decisions
  int tasks_ahead(DeviceId) const override { return 8; }  // tasks whose arrays are loaded while one runs
  TaskId assign(DeviceId device) override {
    if (ready_.empty()) return none;
    auto best = ready_.begin();
    for (auto task = ready_.begin(); task != ready_.end(); ++task)
      if (view_->memory.missing_bytes(*task, device) < view_->memory.missing_bytes(*best, device))
        best = task;
    const TaskId task = *best;
    ready_.erase(best);
    return task;
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    lru_.victims(request, chosen);
  }

 private:
  std::optional<SchedulerView> view_;
  LruOrder lru_;
  std::vector<TaskId> ready_;
};
//! [scheduler]

int main() {
  //! [simulate]
  const TiledGraph cholesky = tiled_graph(TiledKind::Cholesky, 20, 1920);
  const Machine machine("one GPU", {{"GPU", 1000 << 20, {{"*", 14e12}}}}, {{"bus", 12e9, 1e-5, true}},
                        {{host, 0, 0}});
  LeastBytes own;
  const Simulation result = simulate(cholesky.graph, machine, own);
  std::printf("least bytes: %.2f s, %.1f GB to the device\n", result.seconds,
              static_cast<double>(result.traffic.to_devices) / 1e9);
  //! [simulate]
  const Simulation eager = simulate(cholesky.graph, machine, *make_scheduler("eager"));
  std::printf("eager:       %.2f s, %.1f GB\n", eager.seconds,
              static_cast<double>(eager.traffic.to_devices) / 1e9);
  return result.order.size() == eager.order.size() && result.traffic.to_devices < eager.traffic.to_devices
             ? 0
             : 1;
}
