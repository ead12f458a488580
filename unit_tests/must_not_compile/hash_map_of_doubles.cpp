// expect: the keys of a HashMap are compared by their bytes: .*-0.0 is equal to 0.0
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void insert(const strata::HashMap<double, int, strata::Serial>& map) { map.insert(0.5); }
