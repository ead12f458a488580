// expect: the result is neither an integer variable nor a Value of integers
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/select.hpp>
#include <strata/strata.hpp>

template <class T, class D = strata::Serial, int R = 1>
using Array = strata::MDArray<T, D, strata::rank<R>>;
struct IsOdd {
  STRATA_FUNCTION bool operator()(int i) const { return i % 2 != 0; }
};
void select(const Array<int>& x, const Array<int>& y, double& count) {
  strata::copy_if(x, y, IsOdd{}, count);
}
