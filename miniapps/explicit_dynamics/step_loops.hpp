// The loops of a time step, each over all elements or nodes, as a Sequence runs them wherever the fields are:
// on a device, over several, or through one in slices. Include it in files that nvcc compiles where there is
// Cuda.
//
// The hints say how they run on a GPU, as measured on an H200. The kernels of elements take so many registers
// that a multiprocessor has room for 8 warps, which small blocks fill and leave more evenly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/launch_hints.hpp>
#include <strata/algorithms/sequence/sequence.hpp>
#include <strata/algorithms/streaming/fixed_row.hpp>
#include <strata/algorithms/streaming/streamed_sequence.hpp>
#include <strata/miniapps/common/places.hpp>
#include <strata/miniapps/explicit_dynamics/fields.hpp>
#include <strata/miniapps/explicit_dynamics/mesh_regions.hpp>
#include <strata/miniapps/explicit_dynamics/node_kernels.hpp>

namespace strata::inline STRATA_ABI::dynamics {

using miniapp::DeviceOf;
using miniapp::goes_through_slices;

/// Below it each multiprocessor gets some threads only.
inline constexpr index_t few_items = index_t{1} << 15;
/// [0, n) in small blocks; where items are few in the smallest, which spread them best.
inline auto in_small_blocks(index_t n) { return block_size(n < few_items ? 32 : 64, n); }

/// A kernel that takes a clock, with one of several.
template <class Kernel>
struct AtClock {
  Kernel kernel;
  int number;

  template <class Item, class Clocks, class... Views>
  STRATA_FUNCTION void operator()(Item item, Clocks clocks, const Views&... views) const {
    kernel(item, &clocks(number), views...);
  }
};

/// Which of the clocks the loops of a step see. In core there is one, which the steps set. Where steps go
/// through slices, several of them at a time, the host sets all before a run: number k is for the elements of
/// its step k, and for the nodes of the step before; the last one for all steps from there on.
enum class ClockOf { Elements = 0, Nodes = 1 };
/// The clocks where every one of so many steps may have another length, and where at most the first one has.
inline constexpr index_t clocks_of_steps(index_t steps) { return steps + 1; }
inline constexpr index_t few_clocks = 3;
/// As many steps may have a length each.
inline constexpr index_t most_lengths = 1024;

/// `kernel` as a loop of `Steps` takes it.
template <class Steps, class Kernel>
auto at_clock([[maybe_unused]] const Steps& steps, const Kernel& kernel, [[maybe_unused]] ClockOf which,
              [[maybe_unused]] index_t clocks) {
  if constexpr (goes_through_slices<Steps>)
    return by_step([kernel, which, last = static_cast<int>(clocks - 1)](int step) {
      return AtClock<Kernel>{kernel, std::min(step + static_cast<int>(which), last)};
    });
  else return AtClock<Kernel>{kernel, 0};
}

/// The loops over the elements: one, or three.
template <Update U, class T, class Steps, class Arrays>
void add_elements_by(Steps& steps, const Fields<T, Arrays>& f, const Material<T>& material, bool fused,
                     const MeshRegions& mesh) {
  const index_t n = f.element_mass.extent(0);
  const auto at = [&](const auto& kernel) {
    return at_clock(steps, kernel, ClockOf::Elements, f.clocks.extent(0));
  };
  const auto clocks = in(f.clocks, everything);
  const auto nodes = fixed_row<8>(in(f.nodes));
  const auto coordinates = fixed_row<3>(in(f.coordinates, mesh.nodes_of()));  // doubles
  const auto displacement = fixed_row<3>(in(f.displacement, mesh.nodes_of()));
  const auto velocity = fixed_row<3>(in(f.velocity, mesh.nodes_of()));
  if (fused) {
    steps.loop("dynamics: elements", in_small_blocks(n), at(FusedKernel<T, U>{material}), clocks, nodes,
               coordinates, displacement, velocity, in(f.element_mass), fixed_row<9>(inout(f.rotation)),
               fixed_row<6>(inout(f.stretch)), fixed_row<6>(inout(f.stress)),
               fixed_row<3, 4>(inout(f.hourglass)), inout(f.hourglass_work),
               fixed_row<3, 8>(out(f.element_force)), out(f.stable_dt));
    return;
  }
  const auto gradient = [&](const auto& work) {
    steps.loop("dynamics: gradient", work, at(GradientKernel<T>{}), clocks, nodes, coordinates, displacement,
               velocity, fixed_row<9>(out(f.velocity_gradient)), fixed_row<3, 4>(out(f.mode_rates)));
  };
  if constexpr (sizeof(T) == 4) gradient(launch_bounds<64, 12>(in_small_blocks(n)));
  else gradient(in_small_blocks(n));
  // In float blocks of 64 are few enough to be launched ahead of the end of the kernel before.
  steps.loop("dynamics: rotation", sizeof(T) == 4 ? block_size(64, n) : in_small_blocks(n),
             at(RotationKernel<T, U>{}), clocks, fixed_row<9>(in(f.velocity_gradient)),
             fixed_row<9>(inout(f.rotation)), fixed_row<6>(inout(f.stretch)), fixed_row<6>(out(f.rate)));
  steps.loop("dynamics: force", in_small_blocks(n), at(ForceKernel<T>{material}), clocks, nodes, coordinates,
             displacement, in(f.element_mass), fixed_row<3, 4>(in(f.mode_rates)),
             fixed_row<9>(in(f.rotation)), fixed_row<6>(in(f.rate)), fixed_row<6>(inout(f.stress)),
             fixed_row<3, 4>(inout(f.hourglass)), inout(f.hourglass_work),
             fixed_row<3, 8>(out(f.element_force)), out(f.stable_dt));
}
template <class T, class Steps, class Arrays>
void add_elements(Steps& steps, const Fields<T, Arrays>& f, const Parameters& p, const MeshRegions& mesh) {
  const Material<T> material(p);
  if (p.update == Update::First) add_elements_by<Update::First>(steps, f, material, p.fused, mesh);
  else add_elements_by<Update::Second>(steps, f, material, p.fused, mesh);
}

/// The loop over the nodes.
template <class T, class Steps, class Arrays>
void add_nodes(Steps& steps, const Fields<T, Arrays>& f, const MeshRegions& mesh) {
  // Registers for all forces of a node at once.
  const index_t n = f.mass.extent(0);
  steps.loop("dynamics: nodes", block_size(n < few_items ? 32 : 128, launch_bounds<128, 4>(n)),
             at_clock(steps, NodeKernel<T>{}, ClockOf::Nodes, f.clocks.extent(0)), in(f.clocks, everything),
             in(f.offsets, halo(0, 1)), in(f.corners, mesh.corners_of()),
             fixed_row<3, 8>(in(f.element_force, mesh.elements_of())), in(f.mass), in(f.fixed),
             fixed_row<3>(inout(f.velocity)), fixed_row<3>(inout(f.displacement)), inout(f.work),
             fixed_row<3>(inout(f.reaction)));
}

/// SetNextTimeStep of the first clock, where a reduction ends.
struct SetClock {
  double user_dt, safety, collapse;
  index_t every;

  template <class T, class Clocks>
  STRATA_FUNCTION void operator()(const T& least, const Clocks& clocks) const {
    SetNextTimeStep<Clock*>{&clocks(0), user_dt, safety, collapse, every}(least);
  }
};
/// In core: the least stable step of all elements, which sets the clock for the nodes and the next step.
template <class T, class Steps, class Arrays>
void add_least_step(Steps& steps, const Fields<T, Arrays>& f, const Parameters& p) {
  steps.loop_reduce("dynamics: least step", f.element_mass.extent(0), LeastStep<T>{},
                    finalize(SetClock{p.dt, p.safety, p.collapse, p.dt_every}, inout(f.clocks, everything)),
                    in(f.stable_dt));
}

}  // namespace strata::inline STRATA_ABI::dynamics
