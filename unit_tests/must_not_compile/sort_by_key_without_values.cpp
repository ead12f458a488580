// expect: no matching function for call to .sort_by_key
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

void renumber(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) { strata::sort_by_key(x); }
