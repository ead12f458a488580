// expect: takes 2 extents
#include <strata/views/coherent/coherent_array.hpp>

using namespace strata;

void make() { static_cast<void>(CoherentArray<int, rank<2>>("x", 3)); }
