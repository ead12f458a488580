// expect: write_STRATA_FUNCTION_before_operator<.*Twice
// errors: 2
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Twice {
  using View = strata::MDArray<double, strata::Cuda, strata::rank<1>>;
  void operator()(strata::index_t i, const View& x) const { x(i) = 2 * x(i); }
};

void twice(const Twice::View& x) {
  strata::launch(strata::on(strata::Cuda{}), x.extent(0), Twice{}, strata::inout(x));
}
