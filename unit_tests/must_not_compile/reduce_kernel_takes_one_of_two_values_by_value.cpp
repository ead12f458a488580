// expect: the kernel of a reduction takes its value by value, so that what it adds is lost
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void sum(double& result, int& most) {
  strata::parallel_reduce(
      strata::on(strata::Serial{}), 10,
      [](auto i, auto& s, auto m) {
        s += 1;
        m = static_cast<int>(i);
      },
      strata::Sum(result), strata::Max(most));
}
