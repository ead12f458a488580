// expect: work on views of rank 1; take a subview
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/find.hpp>
#include <strata/strata.hpp>

auto first(const strata::MDArray<int, strata::Serial, strata::rank<2>>& x) { return strata::find(x, 3); }
