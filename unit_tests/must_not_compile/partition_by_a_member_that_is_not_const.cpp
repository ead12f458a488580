// expect: the predicate cannot be called as predicate\(const T&\) const and give a bool
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/select.hpp>
#include <strata/strata.hpp>

struct EverySecond {
  int calls = 0;
  STRATA_FUNCTION bool operator()(int) { return ++calls % 2 == 0; }
};
void select(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) {
  strata::partition(x, EverySecond{});
}
