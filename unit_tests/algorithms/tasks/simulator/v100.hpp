// The study's model of machines with V100s, and runs on them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/plan/tiled.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>

#include "core/random.hpp"

namespace strata_tests {

using namespace strata;
using namespace strata::tasks;

/// Simulations of the paper's sizes take seconds each, and minutes under sanitizers, where smaller graphs
/// reach the same code.
class LargeSimulations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (is_sanitized) GTEST_SKIP() << "too long under sanitizers";
  }
};

inline constexpr double gib = 1 << 30;
inline constexpr index_t tile_bytes = 1920 * 1920 * 4;

/// `devices` that share the host's link; 2000 MiB are 142 tiles. `nvlinks`: with those of a DGX-1.
inline Machine v100(int devices = 1, index_t bytes = index_t{2000} << 20, bool nvlinks = false) {
  const MachineDevice device{
      "V100", bytes, {{"gemm", 14.3e12}, {"syrk", 13e12}, {"trsm", 12e12}, {"*", 1.5e12}}};
  std::vector<Joint> joints;
  std::vector<Link> links{{"host", 12e9, 1e-5, false}};
  for (DeviceId k = 0; k < devices; ++k) {
    joints.push_back({host, k, 0});
    for (DeviceId other = 0; nvlinks && other < k; ++other) joints.push_back({other, k, 0});
  }
  const auto join = [&](DeviceId first, DeviceId second, double bytes_per_second) {
    if (!nvlinks || first >= devices || second >= devices) return;
    links.push_back({"NVLink", bytes_per_second, 1e-5, true});
    joints.push_back({first, second, static_cast<int>(links.size()) - 1});
  };
  for (const auto& [first, second] :
       {std::pair(0, 1), {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}})
    join(first, second, 24e9);
  for (const auto& [first, second] :
       {std::pair(0, 3), {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}})
    join(first, second, 48e9);
  return Machine("V100", std::vector<MachineDevice>(static_cast<std::size_t>(devices), device), links,
                 joints);
}

inline Simulation run(const TaskDag& graph, const Machine& machine, const std::string& scheduler,
                      const SchedulerOptions& options = {}) {
  const auto made = make_scheduler(scheduler, options);
  return simulate(graph, machine, *made);
}

inline double gib_in(const Simulation& result) {
  return static_cast<double>(result.traffic.to_devices) / gib;
}

}  // namespace strata_tests
