// expect: launch_bounds: a block has a multiple of 32 threads, from 32 to 1024
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int) const {}
};

void scale() { strata::parallel_for(strata::launch_bounds<2048>(10), Scale{}); }
