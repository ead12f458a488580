// expect: wrong device: a view of one device is given to a launch on another
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

struct Clear {
  using device_type = strata::Serial;
  void operator()(int) const {}
};

void clear() { strata::parallel_for(strata::on(strata::Emulated{}), 10, Clear{}); }
