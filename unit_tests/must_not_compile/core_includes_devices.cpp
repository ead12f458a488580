// expect: strata/devices/device.hpp.*(No such file|not found)
// target: strata_core
// but with: strata
#include <strata/devices/device.hpp>
