// refused: does not compile with strata either
// expect: No such file|not found
// but with: strata
// SPDX-License-Identifier: Apache-2.0
#include <strata/core/no_such_header.hpp>
