// expect: the predicate cannot be called as predicate\(const T&\) const and give a bool
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/select.hpp>
#include <strata/strata.hpp>

template <class T>
using Array = strata::MDArray<T, strata::Serial, strata::rank<1>>;
struct TakesAnIndexAndAView {
  STRATA_FUNCTION bool operator()(strata::index_t i, const Array<int>& x) const { return x(i) != 0; }
};
void select(const Array<int>& x, const Array<int>& y) { strata::copy_if(x, y, TakesAnIndexAndAView{}); }
