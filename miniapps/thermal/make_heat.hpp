// make_heat: what of strata-thermal is compiled for every device, in files of its own (make_heat.cpp,
// heat_double.cpp, heat_float.cpp, placed_double.cpp, placed_float.cpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/miniapps/thermal/arrays_for.hpp>
#include <strata/miniapps/thermal/heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

struct PlacedMesh;  // placed_mesh.hpp

/// The problem on a device, all temperatures free and 0. With a memory limit, or where it does not fit a
/// device with memory of its own, it goes through the device in slices; with a number of devices it is in
/// parts on the first of the kind. With a memory mode it is in coherent arrays also on one device. MeshError,
/// SolverError, OutOfMemory; NoSuchDevice; SettingError for settings that need all of the matrix in one place
/// (placing_lack).
template <class Device>
std::unique_ptr<Heat> make_heat(const Device& device, const HeatRequest& request);

/// On a host, which is compiled once for all of them.
template <miniapp::OneHost Device>
std::unique_ptr<Heat> make_heat(const Device& device, const HeatRequest& request) {
  return make_heat(AnyHost(device), request);
}

/// The same on a mesh that is there, with fields of T.
template <class T, class Device>
std::unique_ptr<Heat> make_heat_of(const fem::Mesh<ArraysFor<Device>>& mesh, const Problem& problem,
                                   const SolveSettings& settings, HeatSetup setup);

/// Of a mesh in the host's memory that goes through the device in slices, within `limit` bytes.
template <class T, class Device>
std::unique_ptr<Heat> make_streamed_heat_of(const PlacedMesh& mesh, const Device& device,
                                            const Problem& problem, const SolveSettings& settings,
                                            index_t limit, HeatSetup setup);

/// In parts on several devices, one of which may have several parts.
template <class T, class Device>
std::unique_ptr<Heat> make_split_heat_of(const PlacedMesh& mesh, const std::vector<Device>& devices,
                                         const Problem& problem, const SolveSettings& settings,
                                         HeatSetup setup);

}  // namespace strata::inline STRATA_ABI::thermal
