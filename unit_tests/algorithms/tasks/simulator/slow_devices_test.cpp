// data-aware with devices of different speeds: a host that is far slower than GPUs does not hold them up, one
// that is not takes its part, and tasks that only a slow device can run go there.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "algorithms/tasks/simulator/v100.hpp"

namespace {

using namespace strata;
using namespace strata::tasks;

constexpr double gpu_rate = 57e12;

// A GPU that holds so many tiles and a host whose speed is `share` of the GPU's; 0: the GPU alone.
Machine gpu_and_host(double share, index_t memory) {
  std::vector<MachineDevice> devices = {{"gpu", memory, {{"*", gpu_rate}}, 1}};
  std::vector<Link> links = {{"link", 50e9, 1e-5, true}};
  std::vector<Joint> joints = {{host, 0, 0}};
  if (share > 0) {
    devices.push_back({"host", index_t{1} << 40, {{"*", share * gpu_rate}}, 1});
    links.push_back({"none", 1e15, 0, true});
    joints.push_back({host, 1, 1});
  }
  return {"gpu and host", devices, links, joints};
}

double seconds_of(const TaskDag& graph, const Machine& machine) {
  return simulate(graph, machine, *make_scheduler("data-aware")).seconds;
}

TEST(SlowDevices, DoNotHoldUpTheOthers) {
  const index_t tile = 1920 * 1920 * 4;
  for (const TiledKind kind : {TiledKind::Cholesky, TiledKind::Lu, TiledKind::Gemm})
    for (const index_t tiles : {60, 2000}) {
      const TaskDag graph = tiled_graph(kind, 16, 1920, 4).graph;
      const double alone = seconds_of(graph, gpu_and_host(0, tiles * tile));
      EXPECT_LE(seconds_of(graph, gpu_and_host(1.0 / 57, tiles * tile)), 1.02 * alone)
          << static_cast<int>(kind) << ", " << tiles;
    }
}

// Nothing is tried in a simulation, which would take time, and end with another order than that of the GPU
// alone.
TEST(SlowDevices, ChangeNothingOfWhatTheOtherOneDoes) {
  const index_t tile = 1920 * 1920 * 4;
  for (const TiledKind kind : {TiledKind::Cholesky, TiledKind::Lu, TiledKind::Gemm, TiledKind::Syrk})
    for (const int tiles : {8, 16})
      for (const index_t memory : {tiles * tiles / 8, 2000}) {
        const TaskDag graph = tiled_graph(kind, tiles, 1920, 4).graph;
        const auto run = [&](double share) {
          return simulate(graph, gpu_and_host(share, memory * tile), *make_scheduler("data-aware"));
        };
        const Simulation alone = run(0), with_host = run(1.0 / 57);
        EXPECT_EQ(with_host.order, alone.order) << static_cast<int>(kind) << ", " << tiles << ", " << memory;
        EXPECT_EQ(with_host.seconds, alone.seconds);
      }
}

// As a graph with one device has it, see TaskExecutor::tasks_at_once.
TEST(SlowDevices, LeaveTheQueuesOfADeviceThatHoldsAllBusy) {
  const index_t tile = 1920 * 1920 * 4;
  const TaskDag graph = tiled_graph(TiledKind::Cholesky, 8, 1920, 4).graph;
  const auto ahead = [&](double share, index_t tiles) {
    const Machine one = gpu_and_host(share, tiles * tile);
    std::vector<MachineDevice> devices = {one.device(0)};
    devices[0].queues = 4;
    std::vector<Joint> joints = {{host, 0, 0}};
    if (share > 0) {
      devices.push_back(one.device(1));
      joints.push_back({host, 1, 1});
    }
    const Machine machine("four queues", devices, one.links(), joints);
    const auto scheduler = make_scheduler("data-aware");
    simulate(graph, machine, *scheduler);
    return scheduler->tasks_ahead(0);
  };
  EXPECT_EQ(ahead(1.0 / 57, 2000), 8);
  EXPECT_EQ(ahead(1.0 / 57, 10), ahead(0, 10));  // as the scheduler has it
  EXPECT_NE(ahead(0.5, 2000), 8);                // the host takes part
}

// Accesses without structure, for which data-aware has no packages.
TEST(SlowDevices, DoNotHoldUpTheOthersWhereAccessesHaveNoStructure) {
  std::mt19937 draw(1);
  TaskDag graph;
  for (int k = 0; k < 400; ++k) graph.add_array("x", 1 << 24);
  for (int k = 0; k < 3000; ++k) {
    const auto array = [&] { return static_cast<ArrayId>(draw() % 400); };
    const ArrayId first = array(), second = (first + 1 + static_cast<ArrayId>(draw() % 398)) % 400;
    graph.add_task("update", "k", 57e9, {{first, AccessMode::InOut}, {second, AccessMode::In}});
  }
  const double alone = seconds_of(graph, gpu_and_host(0, index_t{40} << 24));
  EXPECT_LE(seconds_of(graph, gpu_and_host(1.0 / 57, index_t{40} << 24)), 1.05 * alone);
}

TEST(SlowDevices, AreUsedWhereTheyAreNotSlow) {
  const index_t tile = 1920 * 1920 * 4;
  const TaskDag graph = tiled_graph(TiledKind::Cholesky, 16, 1920, 4).graph;
  const double alone = seconds_of(graph, gpu_and_host(0, 2000 * tile));
  EXPECT_LE(seconds_of(graph, gpu_and_host(0.5, 2000 * tile)), 0.85 * alone);
}

TEST(SlowDevices, RunWhatOnlyTheyCan) {
  const index_t bytes = 1 << 20;
  for (const index_t arrays : {3, 20}) {
    TaskDag graph;
    std::vector<ArrayId> x;
    for (int k = 0; k < 9; ++k) x.push_back(graph.add_array("x", bytes));
    graph.add_task("host", "host", 1e6, {{x[8], AccessMode::In}, {x[0], AccessMode::InOut}});
    graph.add_task("write", "gpu", 1e6, {{x[7], AccessMode::In}, {x[6], AccessMode::Out}});
    graph.add_task("mix", "gpu", 1e6,
                   {{x[6], AccessMode::In}, {x[2], AccessMode::In}, {x[3], AccessMode::InOut}});
    graph.add_task("write", "gpu", 1e6, {{x[5], AccessMode::In}, {x[6], AccessMode::Out}});
    graph.add_task("host", "host", 1e6, {{x[6], AccessMode::In}, {x[0], AccessMode::InOut}});
    const Machine machine("gpu and host",
                          {{"gpu", arrays * bytes, {{"gpu", 1e12}}, 1},
                           {"host", index_t{1} << 40, {{"gpu", 1e10}, {"host", 1e10}}, 1}},
                          {{"link", 50e9, 1e-5, true}, {"none", 1e15, 0, true}},
                          {{host, 0, 0}, {host, 1, 1}});
    for (const std::string& name : scheduler_names())
      EXPECT_EQ(simulate(graph, machine, *make_scheduler(name)).order.size(), 5u) << name << ", " << arrays;
  }
}

}  // namespace
