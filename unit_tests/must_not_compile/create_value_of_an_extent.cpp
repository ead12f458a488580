// expect: takes no extents
// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/serial/device.hpp>
#include <strata/views/create.hpp>
#include <strata/views/mdarray.hpp>
#include <strata/views/multivector.hpp>

using namespace strata;

void make() { static_cast<void>(create<Value<double, Serial>>("v", 2)); }
