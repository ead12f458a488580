// expect: launch_reduce: the kernel takes one of its values by value
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Both {
  void operator()(strata::index_t i, auto x, double& sum, double most) const {
    sum += x(i);
    most = x(i);
  }
};

void both(const strata::MDArray<double, strata::Serial, strata::rank<1>>& x, double& sum, double& most) {
  using namespace strata;
  launch_reduce(on(Serial{}), x.extent(0), Both{}, Sum(sum), Max(most), in(x));
}
