// expect: write_STRATA_FUNCTION_before_operator<.*Fill
// errors: 2
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Fill {
  void operator()(strata::index_t i, auto x) const { x(i) = 1; }
};

void fill(const strata::MDArray<double, strata::Cuda, strata::rank<1>>& x) {
  strata::parallel_for(x.extent(0), strata::with(Fill{}, x));
}
