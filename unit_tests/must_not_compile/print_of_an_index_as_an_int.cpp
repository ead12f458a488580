// expect: print_with_a_conversion_that_does_not_fit_its_argument
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/print.hpp>

struct Kernel {
  void operator()(strata::index_t i) const { strata::print("item %d\n", i); }
};
