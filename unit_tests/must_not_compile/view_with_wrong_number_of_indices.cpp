// expect: an element access needs as many indices as the view has dimensions
// says: ElementAccess<.*Indices<1>, .*Rank<2>
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

double get(const strata::MDArray<double, strata::Serial, strata::rank<2>>& x) { return x(1); }
