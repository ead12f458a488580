// make_box: a box of hexahedra, made on the device from its description.
//
// Node (i, j, k) has number i + (NX + 1) (j + (NY + 1) k), element (i, j, k) number i + NX (j + NY k). There
// are side sets and node sets x_min, x_max, y_min, y_max, z_min, z_max, numbered 1 to 6, and one block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <vector>

#include <strata/algorithms/random.hpp>
#include <strata/miniapps/fem/box_spec.hpp>
#include <strata/miniapps/fem/node_corners.hpp>
#include <strata/miniapps/fem/quality.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI::fem {

/// MeshError: the elements of `box` are turned inside out by its distortion.
[[noreturn]] void fail_distorted_box(const BoxSpec& box, double least_scaled_jacobian);

namespace detail {

// The same bits on every device: sines come from the host, and sums of products are fused or not as written.
struct PlaceBoxNode {
  BoxSpec box;

  STRATA_FUNCTION void operator()(index_t n, auto sines, auto coordinates) const {
    const index_t row = box.elements[0] + 1, plane = row * (box.elements[1] + 1);
    const index_t at[3] = {n % row, n / row % (box.elements[1] + 1), n / plane};
    bool inside = true;
    double wave = box.wave;
    index_t first = 0;  // the sines of a direction follow those of the one before
    for (int d = 0; d < 3; ++d) {
      inside = inside && at[d] > 0 && at[d] < box.elements[d];
      if (wave != 0) wave *= sines(first + at[d]);
      first += box.elements[d] + 1;
    }
    if (!inside) wave = 0;  // the sine of 2 pi is not quite zero
    for (int d = 0; d < 3; ++d) {
      const auto count = static_cast<double>(box.elements[d]);
      double x = box.lengths[d] * static_cast<double>(at[d]) / count;
      if (wave != 0) x = std::fma(wave, box.lengths[d], x);
      if (inside && box.random != 0) {
        const double u =
            random(0, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(d)).uniform<double>();
        x = std::fma(box.random * box.lengths[d] / count, 2 * u - 1, x);  // 2 u is exact
      }
      coordinates(n, d) = x;
    }
  }
};

struct PlaceBoxElement {
  index_t nx, ny;

  STRATA_FUNCTION void operator()(index_t e, auto nodes) const {
    const index_t i = e % nx, j = e / nx % ny, k = e / (nx * ny);
    for (int c = 0; c < 8; ++c)
      nodes(e, c) = static_cast<std::int32_t>(
          i + corner_bit(c, 0) + (nx + 1) * (j + corner_bit(c, 1) + (ny + 1) * (k + corner_bit(c, 2))));
  }
};

// sin(2 pi i / n), i = 0 ... n, for each direction, which has n elements; nothing where no wave wants them.
template <class Array>
Array sines_of(const BoxSpec& box, const typename Array::device_type& device) {
  std::vector<double> sines;
  if (box.wave != 0)
    for (const index_t n : box.elements)
      for (index_t i = 0; i <= n; ++i)
        sines.push_back(std::sin(6.28318530717958647693 * static_cast<double>(i) / static_cast<double>(n)));
  const Array array =
      create<Array>("sines of the wave", static_cast<index_t>(sines.size()), uninitialized, on(device));
  using Source = View<const double, Serial, typename Array::extents_type, LayoutRight>;
  if (!sines.empty()) deep_copy(array, Source(sines.data(), array.extent(0)));
  return array;
}

// Numbers i + count[0] (j + count[1] k) of what lies on a plane, ascending.
struct ListPlane {
  index_t count[3];
  int direction;
  index_t plane;

  STRATA_FUNCTION void operator()(index_t q, auto list) const {
    const index_t first = count[direction == 0 ? 1 : 0];
    const index_t a = q % first, b = q / first;
    const index_t i = direction == 0 ? plane : a;
    const index_t j = direction == 0 ? a : direction == 1 ? plane : b;
    const index_t k = direction == 2 ? plane : b;
    list(q) = static_cast<std::int32_t>(i + count[0] * (j + count[1] * k));
  }
};

/// The numbers on plane 0 or count - 1 of a direction, of a grid of `count`.
template <class Arrays>
NodeList<Arrays> list_plane(const char* label, const index_t (&count)[3], int direction, int side,
                            const typename Arrays::device_type& device) {
  const index_t size = count[direction == 0 ? 1 : 0] * count[direction == 2 ? 1 : 2];
  const NodeList<Arrays> list = create<NodeList<Arrays>>(label, size, uninitialized, on(device));
  const ListPlane kernel{{count[0], count[1], count[2]}, direction, side == 0 ? 0 : count[direction] - 1};
  parallel_for("list a side of the box", on(device), size, with(kernel, list));
  return list;
}

template <class Arrays>
void add_box_sets(Mesh<Arrays>& mesh, const BoxSpec& box) {
  static constexpr const char* names[6] = {"x_min", "x_max", "y_min", "y_max", "z_min", "z_max"};
  const index_t nodes[3] = {box.elements[0] + 1, box.elements[1] + 1, box.elements[2] + 1};
  for (int s = 0; s < 6; ++s) {
    const int direction = s / 2, side = s % 2;
    DeviceSideSet<Arrays> sides{s + 1, names[s], {}, {}};
    sides.elements = list_plane<Arrays>(names[s], box.elements, direction, side, mesh.device);
    sides.faces =
        create<decltype(sides.faces)>(names[s], sides.elements.extent(0), uninitialized, on(mesh.device));
    deep_copy(sides.faces, static_cast<std::int8_t>(face_at(direction, side)));
    mesh.side_sets.push_back(sides);
    mesh.node_sets.push_back(
        {s + 1, names[s], list_plane<Arrays>(names[s], nodes, direction, side, mesh.device)});
  }
}

}  // namespace detail

/// The mesh of a box in the memory of `device`. Waits. MeshError where the distortion is too large,
/// OutOfMemory.
template <class Arrays>
Mesh<Arrays> make_box(const BoxSpec& box, const typename Arrays::device_type& device = {}) {
  check(box);
  Mesh<Arrays> mesh;
  mesh.device = device;
  mesh.source = to_string(box);
  const auto where = on(device);
  const index_t elements = box.element_count(), nodes = box.node_count();
  mesh.coordinates = create<decltype(mesh.coordinates)>("coordinates", nodes, uninitialized, where);
  mesh.element_nodes = create<decltype(mesh.element_nodes)>("element_nodes", elements, uninitialized, where);
  mesh.element_blocks = create<decltype(mesh.element_blocks)>("element_blocks", elements, where);
  mesh.block_ids = {1};
  mesh.block_names = {"box"};
  const auto sines = detail::sines_of<typename Arrays::template node_array<double, rank<1>>>(box, device);
  parallel_for("place nodes", where, nodes, with(detail::PlaceBoxNode{box}, sines, mesh.coordinates));
  parallel_for("place elements", where, elements,
               with(detail::PlaceBoxElement{box.elements[0], box.elements[1]}, mesh.element_nodes));
  if (box.wave != 0 || box.random != 0)
    if (const double least = measure(mesh).least_scaled_jacobian.value; !(least > 0))
      fail_distorted_box(box, least);
  detail::add_box_sets(mesh, box);
  build_node_corners(mesh);
  wait(device);
  return mesh;
}

}  // namespace strata::inline STRATA_ABI::fem
