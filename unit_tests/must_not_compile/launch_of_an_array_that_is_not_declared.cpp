// expect: strata: launch: declare the arrays: in\(x\), out\(y\), inout\(z\)
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Clear {
  void operator()(auto i, auto x) const { x(i) = 0; }
};
void clear(const Vector& x) { strata::launch(strata::on(strata::Serial{}), 10, Clear{}, x); }
