// expect: with: an argument is no view: you wrote .* write launch\(on\(device\), n, kernel
// errors: 2
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <strata/strata.hpp>

struct Fill {
  void operator()(auto i, auto x) const { x(i) = 2; }
};
void fill(std::vector<double>& v, const strata::CoherentArray<double, strata::rank<1>>& c) {
  using namespace strata;
  parallel_for(10, with(Fill{}, c));
  parallel_for(10, with(Fill{}, v));
}
