// expect: parallel_scan: nothing says on which device: you wrote .* write parallel_scan\(on\(device\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void sum(double& total) {
  strata::parallel_scan(
      10, [](int i, double& value, bool) { value += i; }, strata::Sum(total));
}
