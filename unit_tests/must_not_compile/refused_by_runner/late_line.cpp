// expect: an element access needs as many indices
// first lines: 1
#include <strata/strata.hpp>

void access(const strata::MDArray<double, strata::Serial, strata::rank<2>>& x) { x(1); }
