// expect: the kernel of a reduction takes its value by value, so that what it adds is lost
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void sum(double& result) {
  strata::parallel_reduce(
      strata::on(strata::Serial{}), strata::mdrange({3, 4}), [](int i, int j, auto s) { s += i * j; },
      strata::Sum(result));
}
