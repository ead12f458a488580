// make_heat: what of strata-thermal is compiled for every device: make_heat.cpp, and, for fields of either
// type, heat_double.cpp, heat_float.cpp, placed_double.cpp and placed_float.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/common/places.hpp>
#include <strata/miniapps/thermal/heat.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class Device, class T>
class System;  // system.hpp

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

/// The system of equations at a place, with fields of T, of a mesh in the arrays that suit it: fem::Mesh on
/// one device, else PlacedMesh. In slices `vectors` are the bytes of the limit that its budget leaves out.
template <class T, class Where, class Mesh>
std::unique_ptr<System<miniapp::DeviceOf<Where>, T>> make_system(const Where& where, const Mesh& mesh,
                                                                 const Problem& problem,
                                                                 const SolveSettings& settings,
                                                                 index_t vectors);

/// The problem with a system; `setup` has minus the time of its begin for graph_seconds.
template <class T, class Device>
std::unique_ptr<Heat> make_heat_of(std::unique_ptr<System<Device, T>> system, const Problem& problem,
                                   const SolveSettings& settings, const HeatSetup& setup);

}  // namespace strata::inline STRATA_ABI::thermal
