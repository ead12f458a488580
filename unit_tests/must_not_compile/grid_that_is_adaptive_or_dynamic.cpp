// expect: you wrote adaptive\(balance\); write weighted
// expect: you wrote dynamic\(\); write across\(...\).dynamic\(\) without grid
// errors: 2
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/strata.hpp>

void make(strata::Balance& balance) {
  const auto grid = strata::across(strata::Serial{}, strata::Threads{}).grid(2, 1);
  static_cast<void>(grid.adaptive(balance));
  static_cast<void>(grid.dynamic());
}
