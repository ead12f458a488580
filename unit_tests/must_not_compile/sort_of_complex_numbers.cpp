// expect: sort: the elements have no operator<
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

using Number = strata::complex<double>;
void renumber(const strata::MDArray<Number, strata::Serial, strata::rank<1>>& x) {
  strata::sort(x, strata::Descending{});
}
