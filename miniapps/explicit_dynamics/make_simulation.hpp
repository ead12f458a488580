// make_simulation: what of strata-dynamics is compiled for every device, in files of its own
// (make_simulation.cpp and simulation_double.cpp, simulation_float.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>
#include <strata/miniapps/fem/mesh_on_host.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// A simulation of a mesh, as in fem/load_mesh.hpp, each element cut into eight `refinements` times, on a
/// device, or as many of its kind as the parameters say; `type` is "double" or "float". With a memory limit,
/// and where it does not fit the device, its fields go through the device in slices. MeshError, Error,
/// OutOfMemory.
template <class D>
std::unique_ptr<Dynamics> make_simulation(const D& device, const std::string& mesh, int refinements,
                                          const std::string& type, const Parameters& parameters);

/// The same with fields of type T in the memory of a device, of a mesh that is there.
template <class T, class D>
std::unique_ptr<Dynamics> make_simulation_of(const D& device, const fem::MeshOnHost& mesh,
                                             const Parameters& parameters);

/// The same in parts, on several devices, one of which may have several parts.
template <class T, class D>
std::unique_ptr<Dynamics> make_split_simulation(const std::vector<D>& devices, const fem::MeshOnHost& mesh,
                                                const Parameters& parameters);

/// The same within `budget` bytes of the device's memory. Slices stay on the device for `steps_per_pass`
/// steps; 0: as many as the plan finds fastest, of what it has measured so far.
template <class T, class D>
std::unique_ptr<Dynamics> make_streamed_simulation(const D& device, const fem::MeshOnHost& mesh,
                                                   const Parameters& parameters, index_t budget,
                                                   int steps_per_pass = 0);

// On a host, for all of which they are compiled once.

/// As above.
template <class T, miniapp::OneHost D>
std::unique_ptr<Dynamics> make_simulation_of(const D& device, const fem::MeshOnHost& mesh,
                                             const Parameters& parameters) {
  return make_simulation_of<T>(AnyHost(device), mesh, parameters);
}
template <class T, miniapp::OneHost D>
std::unique_ptr<Dynamics> make_streamed_simulation(const D& device, const fem::MeshOnHost& mesh,
                                                   const Parameters& parameters, index_t budget,
                                                   int steps_per_pass = 0) {
  return make_streamed_simulation<T>(AnyHost(device), mesh, parameters, budget, steps_per_pass);
}

}  // namespace strata::inline STRATA_ABI::dynamics
