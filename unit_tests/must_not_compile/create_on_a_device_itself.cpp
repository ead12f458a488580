// expect: create: you wrote a device itself; write on\(device\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void make() {
  using Array = strata::MDArray<double, strata::Serial, strata::rank<1>>;
  const auto x = strata::create<Array>("x", 10, strata::Serial{});
  static_cast<void>(x);
}
