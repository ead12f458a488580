// expect: strata/devices/serial/device.hpp.*(No such file|not found)
// target: strata_devices
// but with: strata
// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/serial/device.hpp>
