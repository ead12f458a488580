// expect: a plain view lives on one device
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Add {
  void operator()(auto i, auto x, double& s) const { s += x(i); }
};
void add(const Vector& x, double& sum) {
  strata::launch_reduce(strata::across(strata::Serial{}, strata::Threads{}), 10, Add{}, strata::Sum(sum),
                        strata::in(x));
}
