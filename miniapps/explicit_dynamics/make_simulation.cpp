// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/fem/load_mesh.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class D>
std::unique_ptr<Dynamics> make_in_core(const D& device, const std::string& mesh, int refinements,
                                       const std::string& type, const Parameters& parameters) {
  const auto loaded = fem::load_mesh<fem::PlainArrays<D>>(mesh, refinements, device);
  return type == "float" ? make_simulation_of<float, D>(loaded, parameters)
                         : make_simulation_of<double, D>(loaded, parameters);
}

template <class D>
std::unique_ptr<Dynamics> make_simulation(const D& device, const std::string& mesh, int refinements,
                                          const std::string& type, const Parameters& parameters) {
  index_t budget = parameters.memory_limit;
  if (budget == 0) {
    try {
      return make_in_core(device, mesh, refinements, type, parameters);
    } catch (const OutOfMemory&) {
      wait(device);  // for what the attempt left to be freed
      budget = miniapp::memory_left(device.backend().capacity(), device.backend().used());
      if (budget == 0) throw;
    }
  }
  const fem::MeshOnHost loaded = fem::load_mesh_on_host(mesh, refinements);
  return type == "float" ? make_streamed_simulation<float, D>(device, loaded, parameters, budget)
                         : make_streamed_simulation<double, D>(device, loaded, parameters, budget);
}

template std::unique_ptr<Dynamics> make_simulation(const STRATA_MINIAPP_DEVICE&, const std::string&, int,
                                                   const std::string&, const Parameters&);

}  // namespace strata::inline STRATA_ABI::dynamics
