// expect: needs <strata/algorithms/grid/grid.hpp>
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void make() { static_cast<void>(strata::across(strata::Serial{}, strata::Threads{}).grid(2, 1)); }
