// expect: sort: the order cannot be called as less\(const T&, const T&\) const and give a bool
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

struct Counting {
  int calls = 0;
  STRATA_FUNCTION bool operator()(int a, int b) { return ++calls, a < b; }
};
void renumber(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) { strata::sort(x, Counting{}); }
