// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/thermal/heat_equation.hpp>
#include <strata/miniapps/thermal/system_at.hpp>

namespace strata::inline STRATA_ABI::thermal {

using Device = STRATA_MINIAPP_DEVICE;
template std::unique_ptr<Heat> make_heat_of<float>(std::unique_ptr<System<Device, float>>, const Problem&,
                                                   const SolveSettings&, const HeatSetup&);
template std::unique_ptr<System<Device, float>> make_system<float>(const On<Device>&,
                                                                   const fem::Mesh<ArraysFor<Device>>&,
                                                                   const Problem&, const SolveSettings&,
                                                                   index_t);

}  // namespace strata::inline STRATA_ABI::thermal
