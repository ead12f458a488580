// expect: launch_bounds: a multiprocessor holds up to 32 blocks
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int) const {}
};

void scale() { strata::parallel_for(strata::launch_bounds<256, -1>(10), Scale{}); }
