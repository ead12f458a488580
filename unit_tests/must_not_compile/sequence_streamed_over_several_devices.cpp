// expect: a Sequence is over on\(...\), across\(...\) or streamed\(device, budget\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/strata.hpp>

void declare() {
  using namespace strata;
  const Sequence steps("steps", streamed(across(Emulated{0}, Emulated{1}), 1000));
}
