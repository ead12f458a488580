// expect: the parts of a complex number are float or double
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

int real_part(strata::complex<int> z) { return z.real(); }
