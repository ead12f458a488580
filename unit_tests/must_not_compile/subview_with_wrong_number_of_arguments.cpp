// expect: a subview needs one argument \(index, range or everything\) for each dimension
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void part(const strata::MDArray<double, strata::Serial, strata::rank<2>>& x) {
  const auto row = strata::subview(x, 1);
  static_cast<void>(row);
}
