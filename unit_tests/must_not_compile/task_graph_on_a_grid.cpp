// expect: arrays of tasks go to devices as wholes: you wrote across\(...\).grid\(...\); write across\(...\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/tasks.hpp>

void run(strata::TaskGraph& graph) {
  using namespace strata;
  graph.run(across(Emulated{0}, Emulated{1}).grid(2, 1));
}
