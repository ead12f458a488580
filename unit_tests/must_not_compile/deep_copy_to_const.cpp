// expect: deep_copy: the destination has const elements
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void copy(const strata::MDArray<const double, strata::Serial>& y,
          const strata::MDArray<double, strata::Serial>& x) {
  strata::deep_copy(y, x);
}
