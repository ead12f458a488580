// expect: launch: the kernel cannot be called as .*, and as a factory .* it returns what cannot be called as
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Read {
  double operator()(auto x) const { return x(0); }
};
void read(const Vector& x) { strata::launch(strata::on(strata::Serial{}), 10, Read{}, strata::in(x)); }
