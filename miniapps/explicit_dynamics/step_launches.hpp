// The launches that a time step is made of, each over all elements or nodes of the fields. Include it in
// files that nvcc compiles where there is Cuda.
//
// The hints say how they run on a GPU, as measured on an H200. The kernels of elements take so many registers
// that a multiprocessor has room for 8 warps, which small blocks fill and leave more evenly.
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/miniapps/explicit_dynamics/fields.hpp>
#include <strata/miniapps/explicit_dynamics/node_kernels.hpp>
#include <strata/views/view_as.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// Below it each multiprocessor gets some threads only.
inline constexpr index_t few_items = index_t{1} << 15;
/// [0, n) in small blocks; where items are few in the smallest, which spread them best.
inline auto in_small_blocks(index_t n) { return block_size(n < few_items ? 32 : 64, n); }

/// What a kernel only reads: a GPU may load it ahead of stores, or again.
template <class V>
auto for_reading(const V& view) {
  if constexpr (V::device_type::memory_space::host_accessible) return view;
  else return read_only(view);
}

template <class T, class Arrays>
void launch_gradient(const auto& where, const Fields<T, Arrays>& f) {
  const auto launch = [&](const auto& work) {
    parallel_for(
        "dynamics: gradient", where, work,
        with(GradientKernel<T>{}, f.clock, for_reading(f.nodes), for_reading(f.coordinates),
             for_reading(f.displacement), for_reading(f.velocity), f.velocity_gradient, f.mode_rates));
  };
  const auto work = in_small_blocks(f.element_mass.extent(0));
  if constexpr (sizeof(T) == 4) launch(launch_bounds<64, 12>(work));
  else launch(work);
}
template <Update U, class T, class Arrays>
void launch_rotation(const auto& where, const Fields<T, Arrays>& f) {
  const index_t n = f.element_mass.extent(0);
  // In float blocks of 64 are few enough to be launched ahead of the end of the kernel before.
  parallel_for(
      "dynamics: rotation", where, sizeof(T) == 4 ? block_size(64, n) : in_small_blocks(n),
      with(RotationKernel<T, U>{}, f.clock, for_reading(f.velocity_gradient), f.rotation, f.stretch, f.rate));
}
template <class T, class Arrays>
void launch_force(const auto& where, const Fields<T, Arrays>& f, const Material<T>& material) {
  parallel_for("dynamics: force", where, in_small_blocks(f.element_mass.extent(0)),
               with(ForceKernel<T>{material}, f.clock, for_reading(f.nodes), for_reading(f.coordinates),
                    for_reading(f.displacement), for_reading(f.element_mass), for_reading(f.mode_rates),
                    for_reading(f.rotation), for_reading(f.rate), f.stress, f.hourglass, f.hourglass_work,
                    f.element_force, f.stable_dt));
}
/// The three in one.
template <Update U, class T, class Arrays>
void launch_fused(const auto& where, const Fields<T, Arrays>& f, const Material<T>& material) {
  parallel_for(
      "dynamics: elements", where, in_small_blocks(f.element_mass.extent(0)),
      with(FusedKernel<T, U>{material}, f.clock, for_reading(f.nodes), for_reading(f.coordinates),
           for_reading(f.displacement), for_reading(f.velocity), for_reading(f.element_mass), f.rotation,
           f.stretch, f.stress, f.hourglass, f.hourglass_work, f.element_force, f.stable_dt));
}
/// Sets the clock to the next step.
template <class T, class Arrays>
void launch_least_step(const auto& where, const Fields<T, Arrays>& f, const Parameters& p) {
  parallel_reduce("dynamics: least step", where, f.element_mass.extent(0), with(LeastStep<T>{}, f.stable_dt),
                  SetNextTimeStep<decltype(f.clock)>{f.clock, p.dt, p.safety, p.collapse, p.dt_every});
}
template <class T, class Arrays>
void launch_nodes(const auto& where, const Fields<T, Arrays>& f) {
  // Registers for all forces of a node at once.
  const index_t n = f.mass.extent(0);
  parallel_for("dynamics: nodes", where, block_size(n < few_items ? 32 : 128, launch_bounds<128, 4>(n)),
               with(NodeKernel<T>{}, f.clock, f.offsets, f.corners, f.element_force, f.mass, f.fixed,
                    f.velocity, f.displacement, f.work, f.reaction));
}

/// All element kernels of a step.
template <class T, class Arrays>
void launch_elements(const auto& where, const Fields<T, Arrays>& f, const Parameters& p) {
  const Material<T> material(p);
  const auto by = [&]<Update U>() {
    if (p.fused) return launch_fused<U>(where, f, material);
    launch_gradient(where, f);
    launch_rotation<U>(where, f);
    launch_force(where, f, material);
  };
  if (p.update == Update::First) by.template operator()<Update::First>();
  else by.template operator()<Update::Second>();
}
template <class T, class Arrays>
void launch_step(const auto& where, const Fields<T, Arrays>& f, const Parameters& p) {
  launch_elements(where, f, p);
  launch_least_step(where, f, p);
  launch_nodes(where, f);
}

}  // namespace strata::inline STRATA_ABI::dynamics
