// expect: the kernel of a reduction takes its value by value, so that what it adds is lost
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/strata.hpp>

void sum(const strata::CoherentArray<double, strata::rank<1>>& x,
         const strata::CoherentArray<double, strata::rank<1>>& y, double& dot) {
  strata::launch_reduce(
      strata::on(strata::Emulated{0}), 10,
      [](strata::index_t i, const auto& a, auto b, auto s) { s += a(i) * b(i); }, strata::Sum(dot),
      strata::in(x), strata::in(y));
}
