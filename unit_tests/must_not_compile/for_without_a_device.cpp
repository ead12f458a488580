// expect: parallel_for: nothing says on which device: you wrote .* write parallel_for\(on\(device\)
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void nothing() {
  strata::parallel_for(10, [](int) {});
}
