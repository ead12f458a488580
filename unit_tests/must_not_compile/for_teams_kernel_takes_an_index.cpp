// expect: the kernel over teams cannot be called as kernel\(member\) const
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int) const {}
};

void scale() { strata::parallel_for(strata::teams(10, 4), Scale{}); }
