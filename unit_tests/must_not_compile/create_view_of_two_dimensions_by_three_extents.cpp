// expect: takes 2 extents
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

void make() { static_cast<void>(create<MDArray<double, Serial, rank<2>>>("m", 3, 4, 5)); }
