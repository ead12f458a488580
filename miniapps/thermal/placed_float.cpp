// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/thermal/make_heat.hpp>
#include <strata/miniapps/thermal/system_at.hpp>

namespace strata::inline STRATA_ABI::thermal {

using Device = STRATA_MINIAPP_DEVICE;
template std::unique_ptr<System<Device, float>> make_system<float>(const Streamed<On<Device>>&,
                                                                   const PlacedMesh&, const Problem&,
                                                                   const SolveSettings&, index_t);
template std::unique_ptr<System<Device, float>> make_system<float>(const Across<Device>&, const PlacedMesh&,
                                                                   const Problem&, const SolveSettings&,
                                                                   index_t);

}  // namespace strata::inline STRATA_ABI::thermal
