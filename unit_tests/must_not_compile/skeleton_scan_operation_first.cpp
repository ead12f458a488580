// expect: the operation follows the arrays: inclusive_scan\(where, x, y, Sum\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/skeletons/skeletons.hpp>

void prefixes(const strata::CoherentArray<double, strata::rank<1>>& x,
              const strata::CoherentArray<double, strata::rank<1>>& y) {
  strata::skeletons::inclusive_scan(strata::on(strata::Serial{}), strata::Sum, y, x);
}
