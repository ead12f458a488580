// expect: create: an argument is neither an extent \(an integer\) nor
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void make() {
  const auto x = strata::create<strata::MDArray<double, strata::Serial, strata::rank<1>>>("x", 10.0);
  static_cast<void>(x);
}
