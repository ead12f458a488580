// expect: parallel_for: the kernel cannot be called as kernel\(index...\) const
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int, int) const {}
};

void scale() { strata::parallel_for(10, Scale{}); }
