// expect: write_STRATA_FUNCTION_before_join<.*Count
// errors: 2
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Count {
  using value_type = double;
  STRATA_FUNCTION void operator()(strata::index_t, double& v) const { v += 1; }
  STRATA_FUNCTION static void init(double& v) { v = 0; }
  static void join(double& v, const double& other) { v += other; }
};

void count(double& result) { strata::parallel_reduce(strata::on(strata::Cuda{}), 10, Count{}, result); }
