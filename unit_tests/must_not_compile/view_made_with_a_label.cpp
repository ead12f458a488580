// expect: a view with a label is made by create: you wrote .* write .*create<...>\("z", 100\)
// errors: 2
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void make(const char* name) {
  strata::MDArray<double, strata::Serial, strata::rank<1>> z("z", 100);
  strata::MDArray<char, strata::Serial, 3> text(name, 100, 3);
  z(0) = text(0, 0);
}
