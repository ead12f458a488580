// expect: launch_reduce: of several results either all go into variables of the host, or none
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Both {
  void operator()(auto i, auto x, double& sum, double& most) const {
    sum += x(i);
    most = x(i) > most ? double(x(i)) : most;
  }
};

void both(const strata::CoherentArray<double, strata::rank<1>>& x,
          const strata::CoherentArray<double, strata::rank<0>>& sum, double& most) {
  using namespace strata;
  launch_reduce(on(Serial{}), x.extent(0), Both{}, Sum(sum), Max(most), in(x));
}
