// expect: the keys of a HashMap are compared by their bytes: .*-0.0 is equal to 0.0
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using strata::bfloat16_t;
void insert(const strata::HashMap<bfloat16_t, int, strata::Serial>& map) { map.insert(bfloat16_t(0.5)); }
