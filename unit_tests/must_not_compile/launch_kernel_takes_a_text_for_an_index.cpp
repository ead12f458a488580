// expect: the kernel cannot be called with an index: its first parameter .* has a type to which no index
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
struct Fill {
  void operator()(std::string, auto x) const { x(0) = 2; }
};
void fill(const Vector& x) { strata::launch(strata::on(strata::Serial{}), 10, Fill{}, strata::out(x)); }
