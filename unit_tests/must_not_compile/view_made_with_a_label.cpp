// expect: a view with a label is made by create: you wrote .* write .*create<...>\("z", 100\)
// errors: 4
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include <strata/strata.hpp>

using Vector = strata::MDArray<double, strata::Serial, strata::rank<1>>;
static_assert(!std::is_constructible_v<Vector, const char*, int>);
static_assert(!std::is_constructible_v<Vector, const char (&)[2], int, int>);

void make(const char* name) {
  Vector z("z", 100);
  strata::MDArray<char, strata::Serial, 3> text(name, 100, 3);
  z(0) = text(0, 0);
}
