// Compiled once for hosts, Emulated and Cuda (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/common/places.hpp>
#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>

namespace strata::inline STRATA_ABI::dynamics {

namespace {

template <class T, class D>
std::unique_ptr<Dynamics> make_of(const D& device, const fem::MeshOnHost& mesh, const Parameters& p) {
  if (p.devices > 1) return make_split_simulation<T>(miniapp::first_devices(device, p.devices), mesh, p);
  index_t budget = p.memory_limit;
  if (budget == 0) {
    try {
      return make_simulation_of<T>(device, mesh, p);
    } catch (const OutOfMemory&) {
      if (p.memory && miniapp::is_explicit(*p.memory)) throw;  // slices are not copied by the program
      wait(device);                                            // for what the attempt left to be freed
      budget = miniapp::memory_left(device.backend().capacity(), device.backend().used());
      if (budget == 0) throw;
    }
  }
  return make_streamed_simulation<T>(device, mesh, p, budget);
}

}  // namespace

template <class D>
std::unique_ptr<Dynamics> make_simulation(const D& device, const std::string& mesh, int refinements,
                                          const std::string& type, const Parameters& parameters) {
  const fem::MeshOnHost loaded = fem::load_mesh_on_host(mesh, refinements);
  return type == "float" ? make_of<float>(device, loaded, parameters)
                         : make_of<double>(device, loaded, parameters);
}

template std::unique_ptr<Dynamics> make_simulation(const STRATA_MINIAPP_DEVICE&, const std::string&, int,
                                                   const std::string&, const Parameters&);

}  // namespace strata::inline STRATA_ABI::dynamics
