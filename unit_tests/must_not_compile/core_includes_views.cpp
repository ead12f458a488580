// expect: strata/views/mdarray.hpp.*(No such file|not found)
// target: strata_core
// but with: strata
// SPDX-License-Identifier: Apache-2.0
#include <strata/views/mdarray.hpp>
