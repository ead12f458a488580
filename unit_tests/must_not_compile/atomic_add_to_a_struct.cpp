// expect: atomic arithmetic needs an integer of 1 to 8 bytes, float or double
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct alignas(8) Pair {
  float a, b;
};
void add(Pair& p) { strata::atomic_fetch_add(&p, p); }
