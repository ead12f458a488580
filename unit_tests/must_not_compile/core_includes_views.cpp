// expect: strata/views/mdarray.hpp.*(No such file|not found)
// target: strata_core
// but with: strata
#include <strata/views/mdarray.hpp>
