// expect: the kernel cannot be called with an index: its first parameter .* has a type to which no index
// errors: 2
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Odd {};
struct Add {
  void operator()(const double* x, double& sum) const { sum += *x; }
  void operator()(const double* x, double& sum, bool) const { sum += *x; }
  void operator()(Odd, strata::index_t, double* x, double& sum) const { sum += *x; }
};

void all(double& sum) {
  using namespace strata;
  parallel_reduce(on(Serial{}), 10, Add{}, Sum(sum));
  parallel_scan(on(Serial{}), 10, Add{}, Sum(sum));
  parallel_reduce(on(Serial{}), tagged<Odd>(mdrange({10, 10})), Add{}, Sum(sum));
}
