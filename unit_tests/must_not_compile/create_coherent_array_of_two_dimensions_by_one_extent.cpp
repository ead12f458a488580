// expect: takes 2 extents
// SPDX-License-Identifier: Apache-2.0
#include <strata/views/coherent/coherent_array.hpp>

using namespace strata;

void make() { static_cast<void>(CoherentArray<int, rank<2>>("x", 3)); }
