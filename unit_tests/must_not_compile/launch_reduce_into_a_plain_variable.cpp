// expect: launch_reduce, launch_scan: nothing says how values are joined: give a named reducer
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/strata.hpp>

void sum(const strata::CoherentArray<double, strata::rank<1>>& x, double& result) {
  strata::launch_reduce(
      strata::on(strata::Serial{}), 10, [](auto i, const auto& v, double& s) { s += v(i); }, result,
      strata::in(x));
}
