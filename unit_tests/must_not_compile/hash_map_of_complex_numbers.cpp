// expect: the keys of a HashMap are compared by their bytes: .*-0.0 is equal to 0.0
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using Key = strata::complex<float>;
void insert(const strata::HashMap<Key, int, strata::Serial>& map) { map.insert(Key(0.5)); }
