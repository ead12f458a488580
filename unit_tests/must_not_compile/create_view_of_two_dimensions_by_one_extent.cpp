// expect: takes 2 extents
// first lines: 10
// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/serial/device.hpp>
#include <strata/views/create.hpp>
#include <strata/views/mdarray.hpp>
#include <strata/views/multivector.hpp>

using namespace strata;

void make() { static_cast<void>(create<MDArray<double, Serial, rank<2>>>("m", 3)); }
