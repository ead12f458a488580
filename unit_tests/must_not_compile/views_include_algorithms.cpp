// expect: strata/algorithms/parallel_for.hpp.*(No such file|not found)
// target: strata_views
// but with: strata
#include <strata/algorithms/parallel_for.hpp>
