// expect: create makes views: you wrote create<CoherentArray<...>>.* write CoherentArray<...> x
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void make() {
  using namespace strata;
  static_cast<void>(create<CoherentArray<double, rank<1>>>("x", 100));
}
