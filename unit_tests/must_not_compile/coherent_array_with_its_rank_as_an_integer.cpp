// expect: the rank of a coherent array is written rank<R>: CoherentArray<T, rank<2>>
// lines: 8
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/views/coherent/coherent_array.hpp>

using namespace strata;

void make() { static_cast<void>(CoherentArray<double, 2>("x", 3, 4)); }
