// expect: takes at most 2 extents
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

void make() { static_cast<void>(create<MultiVector<double, Serial>>("v", 2, 3, 4)); }
