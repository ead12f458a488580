// expect: complex numbers have no order, and so no atomic minimum or maximum
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void raise(strata::complex<double>& z) { strata::atomic_fetch_max(&z, z); }
