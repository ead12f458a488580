// expect: with: give at least one view
// errors: 5
// first lines: 30
#include <strata/strata.hpp>

auto bound = strata::with([](auto) {});
