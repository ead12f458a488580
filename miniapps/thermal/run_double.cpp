// Compiled once for each device (strata_add_miniapp).
#include <strata/miniapps/thermal/run_device.hpp>

template void strata::thermal::run_problem<STRATA_MINIAPP_DEVICE, double>(const STRATA_MINIAPP_DEVICE&,
                                                                          const ThermalSettings&,
                                                                          miniapp::RunReport&);
