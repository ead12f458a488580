// expect: the rank of a coherent array is written rank<R>: .* file_array<T, rank<2>>
// lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/views/coherent/file_array.hpp>

using namespace strata;

void make() { static_cast<void>(file_array<double, 2>("x", 3, 4)); }
