// refused: the first line with 'strata: ' is the [0-9]+th, at most the 1th
// expect: an element access needs as many indices
// first lines: 1
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void access(const strata::MDArray<double, strata::Serial, strata::rank<2>>& x) { x(1); }
