// expect: a scatter view joins by one operation
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void put(const strata::ScatterView<strata::MDArray<int, strata::Serial, strata::rank<1>>>& scatter) {
  scatter(0).max(3);
}
