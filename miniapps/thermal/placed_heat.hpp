// Heat problems in parts on several devices, or in slices that go through one. For the device sources.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <strata/miniapps/thermal/heat_on_device.hpp>
#include <strata/miniapps/thermal/placed_work.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// One type for all places.
template <class Device, class T>
using MakePlacedSystem = std::function<PlacedSystem<Device, T>()>;

template <class T, class Device>
std::unique_ptr<Heat> make_streamed_heat_of(const PlacedMesh& mesh, const Device& device,
                                            const Problem& problem, const SolveSettings& settings,
                                            index_t limit, HeatSetup setup) {
  using Where = Streamed<On<Device>>;
  using System = PlacedSystem<Device, T>;
  const index_t vectors = HeatEquation<System>::vector_bytes(mesh.nodes, problem, settings);
  describe_streaming(mesh, limit, vectors, static_cast<index_t>(sizeof(T)), setup);
  const MakePlacedSystem<Device, T> make = [&] {
    return System(std::make_shared<PlacedWork<Where, T>>(Where{on(device), limit - vectors, {}}, mesh,
                                                         problem, vectors));
  };
  return std::make_unique<HeatOnDevice<System>>(make, problem, settings, std::move(setup));
}

template <class T, class Device>
std::unique_ptr<Heat> make_split_heat_of(const PlacedMesh& mesh, const std::vector<Device>& devices,
                                         const Problem& problem, const SolveSettings& settings,
                                         HeatSetup setup) {
  using System = PlacedSystem<Device, T>;
  if (devices.size() > 1) describe_parts(mesh, setup);
  const MakePlacedSystem<Device, T> make = [&] {
    return System(std::make_shared<PlacedWork<Across<Device>, T>>(
        across(devices).weighted(part_sizes(mesh, devices.size())), mesh, problem, 0));
  };
  return std::make_unique<HeatOnDevice<System>>(make, problem, settings, std::move(setup));
}

}  // namespace strata::inline STRATA_ABI::thermal
