// expect: marching: the work is a multi-dimensional range
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int) const {}
};

void scale() { strata::parallel_for(strata::marching(10), Scale{}); }
