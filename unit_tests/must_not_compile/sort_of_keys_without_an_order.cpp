// expect: sort: the elements have no operator<
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

struct Edge {
  int from, to;
};
void renumber(const strata::MDArray<Edge, strata::Serial, strata::rank<1>>& x) { strata::sort(x); }
