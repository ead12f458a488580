// expect: takes no extents
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

void make() { static_cast<void>(create<Value<double, Serial>>("v", 2)); }
