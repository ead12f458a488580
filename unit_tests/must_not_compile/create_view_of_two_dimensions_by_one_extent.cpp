// expect: takes 2 extents
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

void make() { static_cast<void>(create<MDArray<double, Serial, rank<2>>>("m", 3)); }
