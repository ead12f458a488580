// Graphs and machines drawn at random, for property tests of schedulers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/tasks/plan/machine.hpp>

#include "core/random.hpp"

namespace strata_tests {

using strata::AccessMode;
using strata::index_t;
using namespace strata::tasks;

// Few arrays that many tasks share, in all modes, of up to six a task; and dependencies beside those of
// accesses.
inline TaskDag drawn_graph(Random& draw) {
  TaskDag graph;
  const index_t arrays = draw(1, 12), tasks = draw(0, 40), fan_in = draw(0, 6);
  for (index_t k = 0; k < arrays; ++k) graph.add_array("a" + std::to_string(k), draw(1, 8));
  for (index_t k = 0; k < tasks; ++k) {
    std::vector<TaskAccess> accesses;
    const index_t count = draw(0, fan_in);
    for (index_t j = 0; j < count; ++j)
      accesses.push_back({static_cast<ArrayId>(draw(0, arrays - 1)), static_cast<AccessMode>(draw(0, 2))});
    graph.add_task("t" + std::to_string(k), "k" + std::to_string(draw(0, 2)), static_cast<double>(draw(0, 5)),
                   accesses);
  }
  for (index_t k = 0, count = tasks > 1 ? draw(0, 5) : 0; k < count; ++k) {
    const index_t before = draw(0, tasks - 2);
    graph.add_dependency(static_cast<TaskId>(before), static_cast<TaskId>(draw(before + 1, tasks - 1)));
  }
  return graph;
}

// One to eight devices, with a link to the host each or one for several, and links between some. The first
// can run every task, its memory from exactly what the largest needs on; the others too, or where `is_mixed`
// with less memory and without the rates of some kernels.
inline Machine drawn_machine(Random& draw, const TaskDag& graph, bool is_mixed) {
  index_t least = 1;
  for (TaskId task = 0; task < graph.num_tasks(); ++task) least = std::max(least, graph.bytes_of(task));
  std::vector<MachineDevice> devices;
  std::vector<Link> links;
  std::vector<Joint> joints;
  const auto join = [&](DeviceId first, DeviceId second) {
    if (links.empty() || draw(0, 2) > 0)
      links.push_back({"link", static_cast<double>(draw(1, 9)), 0.1, draw(0, 1) == 1});
    joints.push_back({first, second,
                      static_cast<int>(draw(0, 3) == 0 ? draw(0, static_cast<index_t>(links.size()) - 1)
                                                       : static_cast<index_t>(links.size()) - 1)});
  };
  for (DeviceId device = 0, count = static_cast<DeviceId>(draw(1, 8)); device < count; ++device) {
    MachineDevice drawn{"d" + std::to_string(device), least + (draw(0, 2) == 0 ? 0 : draw(0, 20)), {}};
    if (device == 0 || !is_mixed || draw(0, 2) == 0) {
      drawn.rates["*"] = static_cast<double>(draw(1, 3));
    } else {
      drawn.memory = draw(1, least);
      for (int kernel = 0; kernel < 3; ++kernel)
        if (draw(0, 1) == 1) drawn.rates["k" + std::to_string(kernel)] = static_cast<double>(draw(1, 3));
    }
    devices.push_back(drawn);
    join(host, device);
    for (DeviceId other = 0; other < device; ++other)
      if (draw(0, 2) == 0) join(other, device);
  }
  return Machine("drawn", devices, links, joints);
}

}  // namespace strata_tests
