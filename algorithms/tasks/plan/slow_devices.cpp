// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include <strata/algorithms/tasks/plan/slow_devices.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

// Beside the fastest device for each task, over the tasks that the device can run; 0: it can run none.
std::vector<double> speeds_of(const SchedulerView& view) {
  const std::size_t devices = static_cast<std::size_t>(view.machine.num_devices());
  std::vector<double> own(devices), least(devices), seconds(devices);
  for (TaskId task = 0; task < view.graph.num_tasks(); ++task) {
    double fastest = std::numeric_limits<double>::max();
    for (std::size_t k = 0; k < devices; ++k) {
      const DeviceId device = static_cast<DeviceId>(k);
      seconds[k] = view.machine.can_run(view.graph, task, device)
                       ? view.machine.run_seconds(view.graph, task, device)
                       : -1;
      if (seconds[k] >= 0) fastest = std::min(fastest, seconds[k]);
    }
    for (std::size_t k = 0; k < devices; ++k) {
      if (seconds[k] < 0) continue;
      own[k] += seconds[k];
      least[k] += fastest;
    }
  }
  for (std::size_t k = 0; k < devices; ++k) own[k] = own[k] > 0 ? least[k] / own[k] : 0;
  return own;
}

}  // namespace

std::vector<bool> slow_devices(const SchedulerView& view) {
  constexpr double few = 0.1;
  const std::vector<double> speeds = speeds_of(view);
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::size_t> slowest_first(speeds.size());
  std::iota(slowest_first.begin(), slowest_first.end(), std::size_t{0});
  std::stable_sort(slowest_first.begin(), slowest_first.end(),
                   [&](std::size_t a, std::size_t b) { return speeds[a] < speeds[b]; });
  std::vector<bool> slow(speeds.size());
  double together = 0;
  for (const std::size_t k : slowest_first) {
    together += speeds[k];
    if (!(together < few * all)) break;
    slow[k] = true;
  }
  return slow;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
