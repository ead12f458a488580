// expect: a functor that is called with the value is given as finalize\(f\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Total {
  using value_type = double;
  STRATA_FUNCTION void operator()(auto i, const auto& x, double& sum) const { sum += x(i); }
  STRATA_FUNCTION static void init(double& sum) { sum = 0; }
  STRATA_FUNCTION static void join(double& sum, const double& other) { sum += other; }
};
struct Store {
  strata::Value<double, strata::Serial> result;
  STRATA_FUNCTION void operator()(const double& sum) const { *result = sum; }
};
void total(const Vector& x, const Store& store) {
  strata::launch_reduce(strata::on(strata::Serial{}), 10, Total{}, store, strata::in(x));
}
