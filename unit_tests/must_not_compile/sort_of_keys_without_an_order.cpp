// expect: sort: the elements have no operator<
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

struct Edge {
  int from, to;
};
void renumber(const strata::MDArray<Edge, strata::Serial, strata::rank<1>>& x) { strata::sort(x); }
