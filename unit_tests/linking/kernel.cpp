// A kernel on Emulated.
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) = 2 * x(i); }
};

int main() {
  const auto x = strata::create<strata::MDArray<double, strata::Emulated, strata::rank<1>>>("x", 10);
  strata::parallel_for(10, strata::with(Scale{}, x));
}
