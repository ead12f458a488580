// expect: create: on\(...\) names another device than the array's type
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void make() {
  using Array = strata::MDArray<double, strata::Threads, strata::rank<1>>;
  const auto x = strata::create<Array>("x", 10, strata::on(strata::Serial{}));
  static_cast<void>(x);
}
