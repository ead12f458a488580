// expect: takes 1 extent
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

void make() { static_cast<void>(create<MDArray<double, Serial, 3, 8>>("m", 2, 3)); }
