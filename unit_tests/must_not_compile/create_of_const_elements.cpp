// expect: create makes arrays of non-const elements
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void make() {
  const auto x = strata::create<strata::MDArray<const double, strata::Serial>>("x", 10);
  static_cast<void>(x);
}
