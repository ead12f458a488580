// expect: the predicate cannot be called as predicate\(const T&\) const and give a bool
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/find.hpp>
#include <strata/strata.hpp>

struct Always {
  STRATA_FUNCTION bool operator()() const { return true; }
};
auto first(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) {
  return strata::find_if(x, Always{});
}
