// expect: to_dlpack: other libraries would not access the elements atomically
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>
#include <strata/views/dlpack.hpp>

void show(const strata::MDArray<int, strata::Serial, strata::rank<1>>& x) {
  (void)strata::to_dlpack(strata::atomic(x));
}
