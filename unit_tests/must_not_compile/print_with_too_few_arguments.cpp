// expect: print_has_another_number_of_arguments_than_its_format_says
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/print.hpp>

void tell(double x, double) { strata::print("%g and %g\n", x); }
