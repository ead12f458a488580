// expect: marching: the work is a multi-dimensional range
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int) const {}
};

void scale() { strata::parallel_for(strata::marching(10), Scale{}); }
