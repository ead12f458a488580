// expect: needs <strata/algorithms/sharing/dynamic.hpp>
#include <strata/strata.hpp>

void make() { static_cast<void>(strata::across(strata::Serial{}, strata::Threads{}).dynamic()); }
