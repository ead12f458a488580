// expect: trivially copyable type of 1, 2, 4, 8 or 16 bytes, aligned to its size
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Pair {
  double a, b;
};
void put(Pair& p) { strata::atomic_exchange(&p, p); }
