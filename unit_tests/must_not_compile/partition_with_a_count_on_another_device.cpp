// expect: wrong device: a view of one device is given to a launch on another
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/select.hpp>
#include <strata/strata.hpp>

template <class T, class D = strata::Serial, int R = 1>
using Array = strata::MDArray<T, D, strata::rank<R>>;
struct IsOdd {
  STRATA_FUNCTION bool operator()(int i) const { return i % 2 != 0; }
};
void select(const Array<int>& x, const strata::Value<int, strata::Emulated>& count) {
  strata::partition(x, IsOdd{}, count);
}
