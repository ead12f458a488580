// expect: wrong device: a view of one device is given to a launch on another
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

void renumber(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) {
  strata::sort(strata::on(strata::Emulated{}), x);
}
