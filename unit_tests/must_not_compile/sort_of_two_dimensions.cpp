// expect: work on views of rank 1; take a subview
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/sort.hpp>
#include <strata/strata.hpp>

void renumber(const strata::MDArray<int, strata::Serial, strata::rank<2>>& x) { strata::sort(x); }
