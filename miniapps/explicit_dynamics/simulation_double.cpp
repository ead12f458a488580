// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/explicit_dynamics/make_places.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template std::unique_ptr<Dynamics> make_simulation_of<double, STRATA_MINIAPP_DEVICE>(
    const STRATA_MINIAPP_DEVICE&, const fem::MeshOnHost&, const Parameters&);
template std::unique_ptr<Dynamics> make_split_simulation<double, STRATA_MINIAPP_DEVICE>(
    const std::vector<STRATA_MINIAPP_DEVICE>&, const fem::MeshOnHost&, const Parameters&);
template std::unique_ptr<Dynamics> make_streamed_simulation<double, STRATA_MINIAPP_DEVICE>(
    const STRATA_MINIAPP_DEVICE&, const fem::MeshOnHost&, const Parameters&, index_t, int);

}  // namespace strata::inline STRATA_ABI::dynamics
