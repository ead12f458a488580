// What make_simulation.hpp declares for every place, for the device sources (simulation_double.cpp,
// simulation_float.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/miniapps/explicit_dynamics/make_simulation.hpp>
#include <strata/miniapps/explicit_dynamics/simulation.hpp>

namespace strata::inline STRATA_ABI::dynamics {

template <class T, class D>
std::unique_ptr<Dynamics> make_simulation_of(const D& device, const fem::MeshOnHost& mesh,
                                             const Parameters& parameters) {
  return std::make_unique<Simulation<T, On<D>>>(on(Queue<D>(device)), mesh, parameters);
}
template <class T, class D>
std::unique_ptr<Dynamics> make_split_simulation(const std::vector<D>& devices, const fem::MeshOnHost& mesh,
                                                const Parameters& parameters) {
  return std::make_unique<Simulation<T, Across<D>>>(across(devices), mesh, parameters);
}
template <class T, class D>
std::unique_ptr<Dynamics> make_streamed_simulation(const D& device, const fem::MeshOnHost& mesh,
                                                   const Parameters& parameters, index_t budget,
                                                   int steps_per_pass) {
  return std::make_unique<Simulation<T, Streamed<On<D>>>>(streamed(device, budget), mesh, parameters,
                                                          steps_per_pass);
}

}  // namespace strata::inline STRATA_ABI::dynamics
