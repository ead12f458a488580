// expect: sort: the elements are const, or accessed otherwise than by plain references
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

template <class T>
using Array = strata::MDArray<T, strata::Serial, strata::rank<1>>;
void renumber(const Array<int>& keys, const Array<const double>& values) {
  strata::sort_by_key(keys, values);
}
