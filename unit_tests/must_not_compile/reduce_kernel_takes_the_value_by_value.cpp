// expect: the kernel of a reduction takes its value by value, so that what it adds is lost
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void sum(double& result) {
  strata::parallel_reduce(
      strata::on(strata::Serial{}), 10, [](int i, double s) { s += i; }, strata::Sum(result));
}
