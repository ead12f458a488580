// The mini-app's explicit dynamics over plain views of one device, kernel by kernel, as kernels by hand are
// measured against. Include it in files that nvcc compiles where there is Cuda.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/miniapps/explicit_dynamics/step_loops.hpp>
#include <strata/miniapps/fem/mesh.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>
#include <strata/views/multivector.hpp>
#include <strata/views/view_as.hpp>

namespace perf {

using namespace strata;
using namespace strata::dynamics;

/// The plain arrays of a device; on hosts those of elements are tiled, so that kernels are vectorised across
/// elements. The host's devices share one memory, and here one type of views, so that a kernel is compiled
/// once for all of them.
template <class Device>
struct DynamicsArrays {
  static constexpr bool has_lanes = is_lane_index_v<typename Device::index_type>;
  using device_type = std::conditional_t<has_lanes, Serial, Device>;
  using element_layout = std::conditional_t<has_lanes, LayoutTiled<8>, typename Device::layout>;
  template <class T, index_t... N>
  using element_array = MDArrayIn<element_layout, T, device_type, N...>;
  template <class T, index_t... N>
  using node_array = MDArrayIn<LayoutRight, T, device_type, N...>;
  template <class T>
  using values = Value<T, device_type>;
  template <class T>
  using node_number = std::conditional_t<has_lanes && sizeof(T) == 8, std::int64_t, std::int32_t>;
};

/// The instance of the arrays of a device, of the type that DynamicsArrays chose.
template <class D>
typename DynamicsArrays<D>::device_type array_device(const D& device) {
  if constexpr (DynamicsArrays<D>::has_lanes) return {};
  else return device;
}

/// An array of zeros of `n` rows. By the threads that will work on it, which touch it first.
template <class Array, class D>
Array created(const char* label, index_t n, const Queue<D>& queue, const D& device) {
  Array array = create<Array>(label, n, uninitialized, on(array_device(device)));
  parallel_for(label, on(queue), n, with(ZeroRow{}, array));
  return array;
}

/// The corners of elements: those of the mesh, or a copy in another layout or with wider numbers.
template <class Array, class D>
Array element_nodes(const fem::Mesh<fem::PlainArrays<D>>& mesh, const Queue<D>& queue) {
  if constexpr (std::is_convertible_v<decltype(mesh.element_nodes), Array>) {
    return mesh.element_nodes;
  } else {
    const index_t e = mesh.element_count();
    const auto nodes = create<Array>("element nodes", e, uninitialized, on(array_device(mesh.device)));
    parallel_for("copy element nodes", on(queue), e, with(CopyRow{}, mesh.element_nodes, nodes));
    return nodes;
  }
}

/// On `queue`, which is waited for. What only the three functors need is left out where `fused`.
template <class T, class D, class Arrays = DynamicsArrays<D>>
Fields<T, Arrays> make_fields(const fem::Mesh<fem::PlainArrays<D>>& mesh, const Queue<D>& queue,
                              double density, bool fused) {
  Fields<T, Arrays> f;
  const index_t n = mesh.node_count(), e = mesh.element_count();
  const auto make = [&]<class Array>(Array& array, const char* label, index_t rows) {
    array = created<Array>(label, rows, queue, mesh.device);
  };
  f.coordinates = mesh.coordinates;
  f.offsets = mesh.node_offsets;
  f.corners = mesh.node_corners;
  f.nodes = element_nodes<decltype(f.nodes)>(mesh, queue);
  make(f.displacement, "displacement", n);
  make(f.velocity, "velocity", n);
  make(f.mass, "mass", n);
  make(f.fixed, "fixed", n);
  make(f.work, "work", n);
  make(f.reaction, "reaction", n);
  make(f.element_mass, "element mass", e);
  make(f.rotation, "rotation", e);
  make(f.stretch, "stretch", e);
  make(f.stress, "stress", e);
  make(f.hourglass, "hourglass forces", e);
  make(f.hourglass_work, "hourglass work", e);
  make(f.element_force, "element forces", e);
  make(f.stable_dt, "stable steps", e);
  if (!fused) {
    make(f.velocity_gradient, "velocity gradient", e);
    make(f.mode_rates, "hourglass rates", e);
    make(f.rate, "rate of deformation", e);
  }
  f.clocks = create<decltype(f.clocks)>("clock", on(array_device(mesh.device)));
  parallel_for(
      "begin elements", on(queue), e,
      with(BeginElementKernel<T>{density}, f.nodes, f.coordinates, f.element_mass, f.rotation, f.stretch));
  parallel_for("node masses", on(queue), n,
               with(NodeMassKernel<T>{}, f.offsets, f.corners, f.element_mass, f.mass));
  queue.wait();
  deep_copy(f.clocks, Clock());
  return f;
}

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
        with(GradientKernel<T>{}, f.clocks, for_reading(f.nodes), for_reading(f.coordinates),
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
  parallel_for("dynamics: rotation", where, sizeof(T) == 4 ? block_size(64, n) : in_small_blocks(n),
               with(RotationKernel<T, U>{}, f.clocks, for_reading(f.velocity_gradient), f.rotation, f.stretch,
                    f.rate));
}
template <class T, class Arrays>
void launch_force(const auto& where, const Fields<T, Arrays>& f, const Material<T>& material) {
  parallel_for("dynamics: force", where, in_small_blocks(f.element_mass.extent(0)),
               with(ForceKernel<T>{material}, f.clocks, for_reading(f.nodes), for_reading(f.coordinates),
                    for_reading(f.displacement), for_reading(f.element_mass), for_reading(f.mode_rates),
                    for_reading(f.rotation), for_reading(f.rate), f.stress, f.hourglass, f.hourglass_work,
                    f.element_force, f.stable_dt));
}
/// The three in one.
template <Update U, class T, class Arrays>
void launch_fused(const auto& where, const Fields<T, Arrays>& f, const Material<T>& material) {
  parallel_for(
      "dynamics: elements", where, in_small_blocks(f.element_mass.extent(0)),
      with(FusedKernel<T, U>{material}, f.clocks, for_reading(f.nodes), for_reading(f.coordinates),
           for_reading(f.displacement), for_reading(f.velocity), for_reading(f.element_mass), f.rotation,
           f.stretch, f.stress, f.hourglass, f.hourglass_work, f.element_force, f.stable_dt));
}
/// Sets the clock to the next step.
template <class T, class Arrays>
void launch_least_step(const auto& where, const Fields<T, Arrays>& f, const Parameters& p) {
  parallel_reduce(
      "dynamics: least step", where, f.element_mass.extent(0), with(LeastStep<T>{}, read_only(f.stable_dt)),
      finalize(SetNextTimeStep<decltype(f.clocks)>{f.clocks, p.dt, p.safety, p.collapse, p.dt_every}));
}
template <class T, class Arrays>
void launch_nodes(const auto& where, const Fields<T, Arrays>& f) {
  // Registers for all forces of a node at once.
  const index_t n = f.mass.extent(0);
  parallel_for("dynamics: nodes", where, block_size(n < few_items ? 32 : 128, launch_bounds<128, 4>(n)),
               with(NodeKernel<T>{}, f.clocks, f.offsets, f.corners, f.element_force, f.mass, f.fixed,
                    f.velocity, f.displacement, f.work, f.reaction));
}

}  // namespace perf
