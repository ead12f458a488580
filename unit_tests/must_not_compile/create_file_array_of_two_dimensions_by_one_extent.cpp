// expect: takes 2 extents
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

void make() { static_cast<void>(file_array<double, rank<2>>("x", 3)); }
