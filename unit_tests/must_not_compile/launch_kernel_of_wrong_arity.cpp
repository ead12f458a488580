// expect: launch: the kernel cannot be called as kernel\(index..., views...\) const, nor as a factory
// says: KernelOfLaunch<.*Indices<1>, .*Views<2>
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Fill {
  void operator()(auto i, auto x) const { x(i) = 2; }
};
void fill(const Vector& x, const Vector& y) {
  strata::launch(strata::on(strata::Serial{}), 10, Fill{}, strata::in(x), strata::out(y));
}
