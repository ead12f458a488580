// expect: write_STRATA_FUNCTION_before_operator<.*Fill
// expect: write_STRATA_FUNCTION_before_operator<.*Twice
// expect: write_STRATA_FUNCTION_before_join<.*Count
// errors: 6
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

// One that lacks STRATA_FUNCTION for each kind of launch.
using Vector = strata::MDArray<double, strata::Cuda, strata::rank<1>>;
struct Fill {
  void operator()(strata::index_t i, auto x) const { x(i) = 1; }
};
struct Twice {
  void operator()(strata::index_t i, const Vector& x) const { x(i) = 2 * x(i); }
};
struct Count {
  using value_type = double;
  STRATA_FUNCTION void operator()(strata::index_t, double& v) const { v += 1; }
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  static void join(double& v, const double& other) { v += other; }
};

void all(const Vector& x, double& result) {
  using namespace strata;
  parallel_for(x.extent(0), with(Fill{}, x));
  launch(on(Cuda{}), x.extent(0), Twice{}, inout(x));
  parallel_reduce(on(Cuda{}), 10, Count{}, result);
}
