// expect: print_with_a_format_that_printf_does_not_know
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/print.hpp>

struct Kernel {
  void operator()(strata::index_t) const { strata::print("%ls\n", "text"); }
};
