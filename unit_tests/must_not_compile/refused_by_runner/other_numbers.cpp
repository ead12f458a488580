// refused: nothing matches
// expect: an element access needs as many indices
// says: ElementAccess<.*Indices<3>
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

double get(const strata::MDArray<double, strata::Serial, strata::rank<2>>& x) { return x(1); }
