// expect: you wrote streamed\(across\(...\).grid\(...\), budget\); write streamed\(across\(...\), budget\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/grid/grid.hpp>
#include <strata/streaming.hpp>

void make() {
  using namespace strata;
  static_cast<void>(streamed(across(Emulated{0}, Emulated{1}).grid(2, 1), 1000));
}
