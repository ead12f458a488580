// expect: the kernel cannot be called with an index: its first parameter .* has a type to which no index
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Pixel {
  int row, column;
};
struct Fill {
  void operator()(Pixel p, auto x) const { x(p.row) = p.column; }
};
void fill(const strata::CoherentArray<double, strata::rank<1>>& x) {
  strata::launch(strata::across(strata::Serial{}, strata::Emulated{}), 10, Fill{}, strata::out(x));
}
