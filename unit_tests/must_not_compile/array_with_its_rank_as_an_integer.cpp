// expect: MDArray<T, Device, 1> would be .*: you wrote 1 .* write MDArray<T, Device, rank<1>>
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

using namespace strata;

void make(const MDArray<double, Serial, 3, 1>& right) {  // n x 3 x 1
  static_cast<void>(create<MDArray<double, Serial, 1>>("x", 10));
  static_cast<void>(right.extent(0));
}
