// expect: a HashMap takes a hash and an equality of its keys, or neither
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct HashInt {
  STRATA_FUNCTION unsigned long operator()(int key) const { return static_cast<unsigned long>(key); }
};

strata::HashMap<int, int, strata::Serial, HashInt> map;
