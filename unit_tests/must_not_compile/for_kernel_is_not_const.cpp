// expect: parallel_for: the kernel cannot be called as kernel\(index...\) const
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Count {
  using device_type = strata::Serial;
  int count = 0;
  void operator()(int) { ++count; }
};

void count() { strata::parallel_for(10, Count{}); }
