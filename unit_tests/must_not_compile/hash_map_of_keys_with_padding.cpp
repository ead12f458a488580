// expect: the keys of a HashMap are compared by their bytes
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Key {
  int n;
  char c;
};
void insert(const strata::HashMap<Key, int, strata::Serial>& map) { map.insert(Key{1, 'a'}); }
