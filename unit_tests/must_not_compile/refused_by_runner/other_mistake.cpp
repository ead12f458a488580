// expect: No such file|not found
// but with: strata
#include <strata/core/no_such_header.hpp>
