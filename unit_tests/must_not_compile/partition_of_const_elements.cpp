// expect: partition: the view has const elements
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/select.hpp>
#include <strata/strata.hpp>

template <class T, class D = strata::Serial, int R = 1>
using Array = strata::MDArray<T, D, strata::rank<R>>;
struct IsOdd {
  STRATA_FUNCTION bool operator()(int i) const { return i % 2 != 0; }
};
void select(const Array<const int>& x) { strata::partition(x, IsOdd{}); }
