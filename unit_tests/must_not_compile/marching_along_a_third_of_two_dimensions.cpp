// expect: marching: the range has no such dimension
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int, int) const {}
};

void scale() { strata::parallel_for(strata::marching<2>(strata::mdrange({10, 10})), Scale{}); }
