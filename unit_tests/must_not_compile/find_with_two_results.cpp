// expect: there is one result: an integer variable or a Value of integers
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/find.hpp>
#include <strata/strata.hpp>

void first(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x, int& a, int& b) {
  strata::find(x, 3, a, b);
}
