// expect: the label belongs to the place: launch\(on\(device\).named
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Copy {
  void operator()(int i, auto x, auto y) const { y(i) = x(i); }
};
void copy(const Vector& x, const Vector& y) {
  strata::launch("copy", strata::on(strata::Serial{}), 10, Copy{}, strata::in(x), strata::out(y));
}
