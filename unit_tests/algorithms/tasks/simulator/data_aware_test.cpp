// What the scheduler data-aware reaches on the study's model of V100s: the bounds are a little above what was
// measured when they were written.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "algorithms/tasks/simulator/v100.hpp"

namespace {

using namespace strata_tests;

TaskDag cholesky(int tiles) { return tiled_graph(TiledKind::Cholesky, tiles, 1920).graph; }

// Bytes to one device of so many tiles, by what no order goes below.
double ratio_to_bound(TiledKind kind, int tiles, index_t memory_tiles) {
  const TiledGraph tiled = tiled_graph(kind, tiles, 1920);
  const Machine machine = v100(1, memory_tiles * tile_bytes);
  const double least = tile_bytes * loads_bound(kind, tiles, static_cast<double>(memory_tiles));
  const TaskBounds bounds = bounds_of(tiled.graph, machine, static_cast<index_t>(least));
  return static_cast<double>(run(tiled.graph, machine, "data-aware").traffic.to_devices) /
         static_cast<double>(bounds.bytes_in);
}

class DataAware : public LargeSimulations {};

TEST_F(DataAware, AtTable1LoadsHalfAsMuchAgainAsTheBoundAndStoresEachTileOnce) {
  const Simulation result = run(cholesky(60), v100(), "data-aware");
  EXPECT_LE(gib_in(result), 92);
  EXPECT_EQ(result.traffic.from_devices, 1830 * tile_bytes);
  EXPECT_LE(result.seconds, 1.01 * 35.977);
}
TEST_F(DataAware, StaysNearTheBoundsOfFactorizationsAndProducts) {
  EXPECT_LE(ratio_to_bound(TiledKind::Cholesky, 30, 60), 1.75);
  EXPECT_LE(ratio_to_bound(TiledKind::Cholesky, 40, 100), 1.72);
  EXPECT_LE(ratio_to_bound(TiledKind::Cholesky, 40, 60), 1.88);
  EXPECT_LE(ratio_to_bound(TiledKind::Cholesky, 60, 400), 1.46);
  EXPECT_LE(ratio_to_bound(TiledKind::Gemm, 30, 142), 1.38);
  EXPECT_LE(ratio_to_bound(TiledKind::Syrk, 40, 142), 1.67);
  EXPECT_LE(ratio_to_bound(TiledKind::Lu, 40, 142), 1.41);
}
TEST_F(DataAware, KeepsOutputsOfAPackageThatEndTogetherWhileTheNextOnesAreLoaded) {
  const TiledGraph product = tiled_graph(TiledKind::Gemm, 30, 1920);
  EXPECT_EQ(run(product.graph, v100(), "data-aware").traffic.from_devices, 900 * tile_bytes);
}
TEST_F(DataAware, KeepsDevicesBusyFromTheBeginningToTheEndOfShortRuns) {
  for (const int tiles : {20, 30, 40}) {
    const TaskDag graph = cholesky(tiles);
    const Simulation ours = run(graph, v100(), "data-aware"), darts = run(graph, v100(), "darts");
    EXPECT_LE(ours.seconds, 1.015 * bounds_of(graph, v100()).seconds()) << tiles;
    EXPECT_LE(ours.seconds, 1.01 * darts.seconds) << tiles;
    EXPECT_LE(gib_in(ours), 1.02 * gib_in(darts)) << tiles;
  }
}

TEST_F(DataAware, OnEightDevicesIsFasterThanAllOthersWhereMemoryIsShort) {
  const TaskDag graph = cholesky(40);
  const Machine machine = v100(8, index_t{1000} << 20);
  const double ours = run(graph, machine, "data-aware").seconds;
  for (const char* name : {"eager-prefetch", "lws", "dmdas", "ap", "darts-corrected"})
    EXPECT_LT(ours, run(graph, machine, name).seconds) << name;
}
TEST_F(DataAware, OnEightDevicesWhoseMemoriesHoldAllIsAsFastAsTheOthers) {
  const Machine machine = v100(8, index_t{2000} << 20, true);
  for (const int tiles : {20, 30}) {
    const TaskDag graph = cholesky(tiles);
    const double ours = run(graph, machine, "data-aware").seconds;
    for (const char* name : {"lws", "dmdas"})
      EXPECT_LE(ours, 1.05 * run(graph, machine, name).seconds) << name;
  }
}
TEST_F(DataAware, EightDevicesSendOnWhatOneOfThemLoaded) {
  const Simulation result = run(cholesky(60), v100(8, index_t{2000} << 20, true), "data-aware");
  EXPECT_LE(result.seconds, 9.0);
  EXPECT_LE(gib_in(result), 60);
}

std::string renamed(const std::string& kernel) { return std::string(kernel.rbegin(), kernel.rend()); }
// The same tasks in another topological order, of kernels with other names, over arrays with other numbers.
TaskDag shuffled(const TaskDag& graph, std::uint32_t seed) {
  std::mt19937 draw(seed);
  std::vector<ArrayId> numbers(static_cast<std::size_t>(graph.num_arrays()));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), draw);
  TaskDag result;
  for (ArrayId array = 0; array < graph.num_arrays(); ++array)
    result.add_array("array", graph.array(0).bytes);
  std::vector<std::size_t> waits;
  std::vector<TaskId> ready;
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    waits.push_back(graph.predecessors(task).size());
    if (waits.back() == 0) ready.push_back(task);
  }
  while (!ready.empty()) {
    std::swap(ready[draw() % ready.size()], ready.back());
    const TaskId task = ready.back();
    ready.pop_back();
    std::vector<TaskAccess> accesses = graph.task(task).accesses;
    for (TaskAccess& access : accesses) access.array = numbers[static_cast<std::size_t>(access.array)];
    result.add_task("task", renamed(graph.kernels()[static_cast<std::size_t>(graph.task(task).kernel)]),
                    graph.task(task).work, accesses);
    for (const TaskId next : graph.successors(task))
      if (--waits[static_cast<std::size_t>(next)] == 0) ready.push_back(next);
  }
  return result;
}
// The machine on which the renamed kernels have the rates of the others.
Machine with_renamed_kernels(const Machine& machine) {
  std::vector<MachineDevice> devices;
  std::vector<Joint> joints;
  for (DeviceId k = 0; k < machine.num_devices(); ++k) {
    devices.push_back(machine.device(k));
    devices.back().rates.clear();
    for (const auto& [kernel, rate] : machine.device(k).rates) devices.back().rates[renamed(kernel)] = rate;
    for (DeviceId other = host; other < k; ++other)
      joints.push_back({other, k, machine.link_between(other, k)});
  }
  return Machine(machine.name(), devices, machine.links(), joints);
}

void expect_same_bytes(TiledKind kind, int tiles, const Machine& machine) {
  const TaskDag graph = tiled_graph(kind, tiles, 1920).graph;
  const double in_order = gib_in(run(graph, machine, "data-aware"));
  for (const std::uint32_t seed : {1u, 3u})
    EXPECT_NEAR(gib_in(run(shuffled(graph, seed), with_renamed_kernels(machine), "data-aware")), in_order,
                0.03 * in_order)
        << name_of(kind) << " of " << tiles << " tiles, seed " << seed;
}
TEST_F(DataAware, NeedsNeitherTheOrderOfSubmissionNorTheNumbersOfArraysNorTheNamesOfKernels) {
  expect_same_bytes(TiledKind::Cholesky, 40, v100(1, 60 * tile_bytes));
  expect_same_bytes(TiledKind::Lu, 24, v100());
  expect_same_bytes(TiledKind::Gemm, 24, v100(1, 60 * tile_bytes));
  expect_same_bytes(TiledKind::Syrk, 40, v100());
}
TEST_F(DataAware, NeedsNoOrderOfSubmissionOnSeveralDevices) {
  for (const TiledKind kind : {TiledKind::Cholesky, TiledKind::Syrk})
    expect_same_bytes(kind, 14, v100(4, 30 * tile_bytes, true));
}

}  // namespace
