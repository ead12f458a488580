// make_heat: what of strata-thermal is compiled for every device, in files of its own (make_heat.cpp,
// heat_double.cpp, heat_float.cpp).
#pragma once

#include <memory>

#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/thermal/arrays_for.hpp>
#include <strata/miniapps/thermal/heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// The problem on a device, all temperatures free and 0. MeshError, SolverError, OutOfMemory.
template <class Device>
std::unique_ptr<Heat> make_heat(const Device& device, const HeatRequest& request);

/// The same on a mesh that is there, with fields of T.
template <class T, class Device>
std::unique_ptr<Heat> make_heat_of(const fem::Mesh<ArraysFor<Device>>& mesh, const Problem& problem,
                                   const SolveSettings& settings, HeatSetup setup);

}  // namespace strata::inline STRATA_ABI::thermal
