// expect: parallel_reduce: nothing says on which device: you wrote .* write parallel_reduce\(on\(device\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void sum(double& result) {
  strata::parallel_reduce(
      10, [](int i, double& value) { value += i; }, strata::Sum(result));
}
