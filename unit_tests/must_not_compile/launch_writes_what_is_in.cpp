// expect: launch_writes_what_is_in.cpp:[0-9]+:[0-9]+: error:.* lvalue required as left operand of assignment
// lines: 13
// bytes: 6500
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/strata.hpp>

void add(const strata::CoherentArray<double, strata::rank<1>>& x,
         const strata::CoherentArray<double, strata::rank<1>>& y) {
  const auto place = strata::on(strata::Serial{});
  launch(
      place, 10, [](auto i, auto a, auto b) { a(i) = b(i); }, in(x), inout(y));
}
