// expect: the keys of a HashMap are compared by their bytes: .*-0.0 is equal to 0.0
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using strata::half_t;
void insert(const strata::HashMap<half_t, int, strata::Serial>& map) { map.insert(half_t(0.5)); }
