// expect: an element access needs as many indices as the view has dimensions
// says: (?s)ElementAccess<[^<]*Indices<1>, [^<]*Rank<2>.*ElementAccess<[^<]*Indices<2>, [^<]*Rank<1>
// errors: 2
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

double get(const strata::MDArray<double, strata::Serial, strata::rank<2>>& x) { return x(1); }
double get(const strata::CoherentArray<double, strata::rank<1>>& x) { return x(1, 2); }
