// expect: you wrote across\(...\).grid\(...\); write across\(...\), or launch each loop over the grid
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/sequence.hpp>

void declare() {
  using namespace strata;
  const Sequence steps("steps", across(Emulated{0}, Emulated{1}).grid(2, 1));
}
