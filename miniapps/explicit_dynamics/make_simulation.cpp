// Compiled once for each device: see strata_add_miniapp.
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/fem/load_mesh.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class D>
std::unique_ptr<Dynamics> make_simulation(const D& device, const std::string& mesh, int refinements,
                                          const std::string& type, const Parameters& parameters) {
  const auto loaded = fem::load_mesh<fem::PlainArrays<D>>(mesh, refinements, device);
  return type == "float" ? make_simulation_of<float, D>(loaded, parameters)
                         : make_simulation_of<double, D>(loaded, parameters);
}

template std::unique_ptr<Dynamics> make_simulation(const STRATA_MINIAPP_DEVICE&, const std::string&, int,
                                                   const std::string&, const Parameters&);

}  // namespace strata::inline STRATA_ABI::dynamics
