// make_fields: the fields of a body at rest and free of stress. Include it in files that nvcc compiles where
// there is Cuda.
#pragma once

#include <strata/algorithms/parallel_for.hpp>
#include <strata/miniapps/explicit_dynamics/fields.hpp>
#include <strata/miniapps/explicit_dynamics/node_kernels.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI::dynamics {

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
  if constexpr (std::is_convertible_v<decltype(mesh.element_nodes), decltype(f.nodes)>) {
    f.nodes = mesh.element_nodes;
  } else {
    f.nodes =
        create<decltype(f.nodes)>("element nodes, tiled", e, uninitialized, on(array_device(mesh.device)));
    parallel_for("copy element nodes", on(queue), e, with(CopyRow{}, mesh.element_nodes, f.nodes));
  }
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
  f.clock = create<decltype(f.clock)>("clock", on(array_device(mesh.device)));
  parallel_for(
      "begin elements", on(queue), e,
      with(BeginElementKernel<T>{density}, f.nodes, f.coordinates, f.element_mass, f.rotation, f.stretch));
  parallel_for("node masses", on(queue), n,
               with(NodeMassKernel<T>{}, f.offsets, f.corners, f.element_mass, f.mass));
  queue.wait();
  deep_copy(f.clock, Clock());
  return f;
}

}  // namespace strata::inline STRATA_ABI::dynamics
