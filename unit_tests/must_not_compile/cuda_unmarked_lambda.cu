// expect: a lambda for Cuda is marked .*=\] STRATA_FUNCTION\(index_t i\)
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void fill(double* p) {
  strata::parallel_for(strata::on(strata::Cuda{}), 10, [=](strata::index_t i) { p[i] = 1; });
}
