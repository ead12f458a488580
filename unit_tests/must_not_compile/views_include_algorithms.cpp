// expect: strata/algorithms/parallel_for.hpp.*(No such file|not found)
// target: strata_views
// but with: strata
// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/parallel_for.hpp>
