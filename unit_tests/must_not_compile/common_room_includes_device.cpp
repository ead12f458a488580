// expect: strata/devices/serial/device.hpp.*(No such file|not found)
// target: strata_devices
// but with: strata
#include <strata/devices/serial/device.hpp>
