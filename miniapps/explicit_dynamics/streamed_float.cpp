// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/explicit_dynamics/streamed_simulation.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class T, class D>
std::unique_ptr<StreamedDynamics> make_streamed_simulation(const D& device, const fem::MeshOnHost& mesh,
                                                           const Parameters& parameters, index_t budget,
                                                           int steps_per_pass) {
  return std::make_unique<StreamedSimulation<T, D>>(device, mesh, parameters, budget, steps_per_pass);
}

template std::unique_ptr<StreamedDynamics> make_streamed_simulation<float, STRATA_MINIAPP_DEVICE>(
    const STRATA_MINIAPP_DEVICE&, const fem::MeshOnHost&, const Parameters&, index_t, int);

}  // namespace strata::inline STRATA_ABI::dynamics
