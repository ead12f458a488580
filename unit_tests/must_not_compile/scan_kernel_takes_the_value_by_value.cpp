// expect: the kernel of a scan takes its value by value, so that what it adds is lost
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void sum(double& result) {
  strata::parallel_scan(
      strata::on(strata::Serial{}), 10, [](strata::index_t, auto s, bool) { s += 1; }, strata::Sum(result));
}
