// expect: parallel_for: the kernel cannot be called as kernel\(index...\) const
// says: KernelOfFor<.*Indices<2>, .*Views<0>
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Scale {
  using device_type = strata::Serial;
  void operator()(int) const {}
};

void scale() { strata::parallel_for(strata::mdrange({10, 10}), Scale{}); }
