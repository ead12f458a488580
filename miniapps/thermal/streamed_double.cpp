// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
#include <strata/miniapps/thermal/streamed_heat.hpp>

template std::unique_ptr<strata::thermal::Heat>
strata::thermal::make_streamed_heat_of<double, STRATA_MINIAPP_DEVICE>(const strata::thermal::StreamedMesh&,
                                                                      const STRATA_MINIAPP_DEVICE&,
                                                                      const Problem&, const SolveSettings&,
                                                                      strata::index_t, HeatSetup);
