// expect: atomic access needs an arithmetic element type of at most 8 bytes
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Pair {
  double a, b;
};
using AtomicPairs =
    strata::View<Pair, strata::Serial, strata::RankExtents<1>, strata::LayoutRight, strata::AtomicAccess>;

void get(const AtomicPairs& x) { x(0); }
