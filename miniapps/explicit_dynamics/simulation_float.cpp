// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/explicit_dynamics/simulation.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class T, class D>
std::unique_ptr<Dynamics> make_simulation_of(const fem::Mesh<fem::PlainArrays<D>>& mesh,
                                             const Parameters& parameters) {
  return std::make_unique<Simulation<T, D>>(mesh, parameters);
}

template std::unique_ptr<Dynamics> make_simulation_of<float, STRATA_MINIAPP_DEVICE>(
    const fem::Mesh<fem::PlainArrays<STRATA_MINIAPP_DEVICE>>&, const Parameters&);

}  // namespace strata::inline STRATA_ABI::dynamics
