// Body: the fields of a mesh, and in which order they are stored; what a place means for them. Include it in
// files that nvcc compiles where there is Cuda.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include <strata/miniapps/common/memory.hpp>
#include <strata/miniapps/explicit_dynamics/field_values.hpp>
#include <strata/miniapps/explicit_dynamics/step_loops.hpp>
#include <strata/miniapps/fem/mesh_on_host.hpp>
#include <strata/miniapps/fem/mesh_order.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// The memory mode of the fields: the one asked for, or, where they go through a device, that from which
/// copies are fast.
template <class Where>
MemoryMode memory_mode_of(const Parameters& p) {
  if constexpr (goes_through_slices<Where>) return miniapp::memory_mode_for<DeviceOf<Where>>(p.memory);
  else return p.memory.value_or(MemoryMode::Smart);
}
template <class Where>
auto home_of(const Where& where) {
  return miniapp::main_for(miniapp::first_device(where));
}

/// An array of these extents, without values.
template <class A, class Home>
A array_like(const A& array, const char* label, const Home& home, MemoryMode mode) {
  if constexpr (A::rank == 1) return A(label, array.extent(0), uninitialized, home, mode);
  else if constexpr (A::rank == 2)
    return A(label, array.extent(0), array.extent(1), uninitialized, home, mode);
  else return A(label, array.extent(0), array.extent(1), array.extent(2), uninitialized, home, mode);
}

template <class T, class D>
struct Body {
  Fields<T, CoherentArrays<D>> fields;
  Fields<T, CoherentArrays<D>> second;  // copies of what steps change, for steps that are done again
  fem::MeshOrder order;                 // what is stored where
  Places nodes, elements;               // and where what is
};

inline fem::ElementCorners corners_of(const fem::MeshOnHost& mesh) {
  fem::ElementCorners corners(static_cast<std::size_t>(mesh.element_count()));
  for (index_t e = 0; e < mesh.element_count(); ++e)
    for (int c = 0; c < 8; ++c)
      corners[static_cast<std::size_t>(e)][static_cast<std::size_t>(c)] = mesh.element_nodes(e, c);
  return corners;
}

/// The regions of parts of a body, where there are parts.
template <class Where, class T, class D>
MeshRegions regions_of(const fem::MeshOnHost& mesh, const Body<T, D>& body) {
  const index_t nodes = mesh.node_count(), elements = mesh.element_count();
  if constexpr (std::is_same_v<Where, On<D>>) {
    return {nodes, elements};
  } else {
    std::vector<std::int32_t> offsets;
    const auto all = body.fields.offsets.read();
    for (index_t n = 0; n <= nodes; ++n) offsets.push_back(all(n));
    return {nodes, elements, fem::MeshRanges(fem::reordered(corners_of(mesh), body.order), nodes),
            std::move(offsets)};
  }
}

/// Calls call(array, label, rows, extents...) for the fields that steps change or hand on; what only three
/// kernels need is left out where they are one.
template <class F, class Call>
void for_each_made(F& f, index_t nodes, index_t elements, bool fused, const Call& call) {
  call(f.displacement, "displacement", nodes, 3);
  call(f.velocity, "velocity", nodes, 3);
  call(f.mass, "mass", nodes);
  call(f.fixed, "fixed", nodes);
  call(f.work, "work", nodes);
  call(f.reaction, "reaction", nodes, 3);
  call(f.element_mass, "element mass", elements);
  call(f.rotation, "rotation", elements, 9);
  call(f.stretch, "stretch", elements, 6);
  call(f.stress, "stress", elements, 6);
  call(f.hourglass, "hourglass forces", elements, 3, 4);
  call(f.hourglass_work, "hourglass work", elements);
  call(f.element_force, "element forces", elements, 3, 8);
  call(f.stable_dt, "stable steps", elements);
  if (fused) return;
  call(f.velocity_gradient, "velocity gradient", elements, 9);
  call(f.mode_rates, "hourglass rates", elements, 3, 4);
  call(f.rate, "rate of deformation", elements, 6);
}

/// Calls call(array, other) for the fields of `f` and `g` that steps change and read.
template <class F, class Call>
void for_each_state(F& f, F& g, const Call& call) {
  call(f.displacement, g.displacement), call(f.velocity, g.velocity), call(f.work, g.work);
  call(f.reaction, g.reaction), call(f.rotation, g.rotation), call(f.stretch, g.stretch);
  call(f.stress, g.stress), call(f.hourglass, g.hourglass), call(f.hourglass_work, g.hourglass_work);
}

/// Through slices: whether steps may have to be done again.
inline bool does_again(const Parameters& p) { return !(p.dt > 0) && !p.decides_each_step(); }

/// The corners of elements and those of nodes, by places; a node's in the order of the mesh's elements, in
/// which forces are summed.
template <class T, class D>
void set_corners(Body<T, D>& body, const fem::MeshOnHost& mesh) {
  const index_t n = mesh.node_count(), e = mesh.element_count();
  const auto nodes = body.fields.nodes.write();
  for (index_t place = 0; place < e; ++place)
    for (int c = 0; c < 8; ++c)
      nodes(place, c) = static_cast<typename CoherentArrays<D>::template node_number<T>>(
          place_of(body.nodes, mesh.element_nodes(body.order.element(place), c)));
  const auto offsets = body.fields.offsets.write();
  const auto corners = body.fields.corners.write();
  std::int32_t next = 0;
  for (index_t place = 0; place < n; ++place) {
    offsets(place) = next;
    const index_t node = body.order.node(place);
    for (std::int32_t k = mesh.node_offsets(node); k < mesh.node_offsets(node + 1); ++k) {
      const std::int32_t corner = mesh.node_corners(k);
      corners(next++) = static_cast<std::int32_t>(8 * place_of(body.elements, corner / 8)) + corner % 8;
    }
  }
  offsets(n) = next;
}

/// The fields of a mesh; nothing is computed yet. Streamed through slices they are zero and on the host,
/// elsewhere they have no values.
template <class T, class Where>
Body<T, DeviceOf<Where>> make_fields(const Where& where, const fem::MeshOnHost& mesh, const Parameters& p) {
  constexpr bool is_streamed = goes_through_slices<Where>;
  Body<T, DeviceOf<Where>> body;
  auto& f = body.fields;
  const index_t n = mesh.node_count(), e = mesh.element_count();
  if (is_streamed) body.order = fem::narrow_order(corners_of(mesh), n);
  body.nodes = fem::places_of(body.order.node_at);
  body.elements = fem::places_of(body.order.element_at);
  const auto home = home_of(where);
  const MemoryMode mode = memory_mode_of<Where>(p);
  const auto of_mesh = [&]<class Array>(Array& array, const char* label, index_t rows, auto... extents) {
    array = Array(label, rows, extents..., uninitialized, home, mode);
  };
  of_mesh(f.coordinates, "coordinates", n, 3);
  of_mesh(f.nodes, "element nodes", e, 8);
  of_mesh(f.offsets, "offsets", n + 1);
  of_mesh(f.corners, "corners", 8 * e);
  const index_t clocks = does_again(p) ? clocks_of_steps(std::min(p.dt_every, most_lengths)) : few_clocks;
  f.clocks = decltype(f.clocks)("clock", is_streamed ? clocks : 1, home, mode);
  {
    const auto coordinates = f.coordinates.write();
    for (index_t place = 0; place < n; ++place)
      for (int d = 0; d < 3; ++d) coordinates(place, d) = mesh.coordinates(body.order.node(place), d);
  }
  set_corners(body, mesh);
  for_each_made(
      f, n, e, p.fused, [&]<class Array>(Array& array, const char* label, index_t rows, auto... extents) {
        // Through slices those that are not made below are never in the host's memory.
        array = Array(label, rows, extents..., uninitialized, home, is_streamed ? MemoryMode::Smart : mode);
      });
  if constexpr (is_streamed) {
    // The fields that are copied from the host and back. Memory of the others is only touched where it is
    // used.
    const auto zero = [&]<class Array>(Array& array, index_t rows, auto... extents) {
      array = Array(array.label(), rows, extents..., home, mode);
    };
    zero(f.displacement, n, 3), zero(f.velocity, n, 3), zero(f.mass, n), zero(f.fixed, n), zero(f.work, n);
    zero(f.reaction, n, 3), zero(f.element_mass, e), zero(f.rotation, e, 9), zero(f.stretch, e, 6);
    zero(f.stress, e, 6), zero(f.hourglass, e, 3, 4), zero(f.hourglass_work, e);
    if (p.decides_each_step()) zero(f.element_force, e, 3, 8);
    if (does_again(p))
      for_each_state(f, body.second, [&]<class Array>(const Array& array, Array& second) {
        second = array_like(array, (std::string(array.label()) + ", second copy").c_str(), home, mode);
      });
  }
  // What the host has written.
  const auto& device = miniapp::first_device(where);
  miniapp::to_device(f.coordinates, device), miniapp::to_device(f.nodes, device);
  miniapp::to_device(f.offsets, device), miniapp::to_device(f.corners, device);
  miniapp::to_device(f.clocks, device);
  return body;
}

/// At rest and free of stress. In core all fields are there at once then, or it throws OutOfMemory.
template <class T, class D, class Where>
void begin_fields(const Where& where, const Fields<T, CoherentArrays<D>>& f, const Parameters& p,
                  const MeshRegions& mesh) {
  const index_t n = f.mass.extent(0), e = f.element_mass.extent(0);
  Sequence begin("dynamics: begin", where);
  if constexpr (!goes_through_slices<Where>)
    for_each_made(f, n, e, p.fused, [&](const auto& array, const char* label, index_t rows, auto...) {
      begin.loop(label, rows, ZeroRow{}, out(array));
    });
  begin.loop("begin elements", e, BeginElementKernel<T>{p.density}, fixed_row<8>(in(f.nodes)),
             fixed_row<3>(in(f.coordinates, mesh.nodes_of())), out(f.element_mass),
             fixed_row<9>(out(f.rotation)), fixed_row<6>(out(f.stretch)));
  begin.loop("node masses", n, NodeMassKernel<T>{}, in(f.offsets, halo(0, 1)),
             in(f.corners, mesh.corners_of()), in(f.element_mass, mesh.elements_of()), out(f.mass));
  begin.run(1);
}

/// The bytes of the fields of steps, as the host has them, without second copies.
template <class T, class Arrays>
index_t bytes_of(const Fields<T, Arrays>& f, bool with_forces) {
  index_t sum = 0;
  const auto add = [&](const auto&... arrays) {
    ((sum += arrays.size() * index_t{sizeof(typename std::decay_t<decltype(arrays)>::value_type)}), ...);
  };
  add(f.coordinates, f.nodes, f.offsets, f.corners, f.displacement, f.velocity, f.mass, f.fixed, f.work,
      f.reaction, f.element_mass, f.rotation, f.stretch, f.stress, f.hourglass, f.hourglass_work);
  if (with_forces) add(f.element_force);
  return sum;
}

}  // namespace strata::inline STRATA_ABI::dynamics
