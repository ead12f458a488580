// expect: wrong device: a view of one device is given to a launch on another
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

template <class T, class D>
using Array = strata::MDArray<T, D, strata::rank<1>>;
void renumber(const Array<int, strata::Serial>& keys, const Array<double, strata::Emulated>& values) {
  strata::sort_by_key(keys, values);
}
