// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/thermal/placed_heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

using Device = STRATA_MINIAPP_DEVICE;
template std::unique_ptr<Heat> make_streamed_heat_of<float>(const PlacedMesh&, const Device&, const Problem&,
                                                            const SolveSettings&, index_t, HeatSetup);
template std::unique_ptr<Heat> make_split_heat_of<float>(const PlacedMesh&, const std::vector<Device>&,
                                                         const Problem&, const SolveSettings&, HeatSetup);

}  // namespace strata::inline STRATA_ABI::thermal
