// expect: parallel_for: the kernel cannot be called as kernel\(index...\) const
// lines: 12
// bytes: 2500
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Matrix = strata::MDArray<double, strata::Serial, strata::rank<2>>;

void fill(const strata::MDArray<float, strata::Serial, strata::rank<2>>& x) {
  strata::parallel_for(10, with([](auto i, const Matrix& a) { a(i, 0) = 2; }, x));
}
