// make_streamed_heat_of: a heat problem that goes through its device in slices. For the device sources.
#pragma once

#include <memory>
#include <utility>

#include <strata/miniapps/thermal/heat_on_device.hpp>
#include <strata/miniapps/thermal/streamed_system.hpp>

namespace strata::inline STRATA_ABI::thermal {

template <class T, class Device>
std::unique_ptr<Heat> make_streamed_heat_of(const StreamedMesh& mesh, const Device& device,
                                            const Problem& problem, const SolveSettings& settings,
                                            index_t limit, HeatSetup setup) {
  using System = StreamedSystem<Device, T>;
  const index_t vectors = HeatEquation<System>::vector_bytes(mesh.nodes, problem, settings);
  describe_streaming(mesh, limit, vectors, static_cast<index_t>(sizeof(T)), setup);
  return std::make_unique<HeatOnDevice<System>>([&] { return System(mesh, problem, device, limit, vectors); },
                                                problem, settings, std::move(setup));
}

}  // namespace strata::inline STRATA_ABI::thermal
