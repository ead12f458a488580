// expect: parallel_for: the kernel cannot be called as kernel\(index...\) const
// says: KernelOfFor<.*Indices<1>, .*Views<0>
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int, int) const {}
};

void scale() { strata::parallel_for(10, Scale{}); }
