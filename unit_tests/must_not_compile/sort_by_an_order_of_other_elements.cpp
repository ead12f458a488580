// expect: sort: the order cannot be called as less\(const T&, const T&\) const and give a bool
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

struct Name {
  char letters[8];
};
struct ByNumber {
  STRATA_FUNCTION bool operator()(const Name& a, const Name& b) const { return a.letters[0] < b.letters[0]; }
};
void renumber(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) { strata::sort(x, ByNumber{}); }
