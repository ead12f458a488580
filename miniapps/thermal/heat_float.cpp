// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/thermal/heat_on_device.hpp>
#include <strata/miniapps/thermal/make_heat.hpp>

template std::unique_ptr<strata::thermal::Heat> strata::thermal::make_heat_of<float, STRATA_MINIAPP_DEVICE>(
    const strata::fem::Mesh<ArraysFor<STRATA_MINIAPP_DEVICE>>&, const Problem&, const SolveSettings&,
    HeatSetup);
