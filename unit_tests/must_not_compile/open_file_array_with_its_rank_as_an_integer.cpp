// expect: the rank of a coherent array is written rank<R>: .* file_array<T, rank<2>>
// lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/views/coherent/file_array.hpp>

using namespace strata;

void open() { static_cast<void>(open_file_array<double, 2, LayoutRight>("x")); }
