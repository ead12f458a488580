// expect: a hint for an array that is not in managed memory
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

void hint(const strata::MDArray<double, strata::Cuda>& x) { strata::cuda::prefetch(x, strata::Cuda{}); }
