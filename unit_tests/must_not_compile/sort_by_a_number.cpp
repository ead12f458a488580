// expect: sort: the order cannot be called as less
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

void renumber(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) { strata::sort(x, 3); }
