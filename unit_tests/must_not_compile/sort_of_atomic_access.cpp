// expect: sort: the elements are const, or accessed otherwise than by plain references
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

void renumber(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) {
  strata::sort(strata::atomic(x));
}
