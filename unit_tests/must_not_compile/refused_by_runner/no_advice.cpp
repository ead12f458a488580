// refused: lacks 'you wrote'
// expect: with: give at least one view
// errors: 5
// first lines: 30
// SPDX-License-Identifier: Apache-2.0
#include <strata/strata.hpp>

auto bound = strata::with([](auto) {});
