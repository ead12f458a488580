// The kernels that make the system of equations A y = b of a mesh.
//
// Three ways to the same sums. `ElementContributions` stores what every element gives, and `GatherRows` adds
// it up, a node its own row, elements ascending: no two work items write the same number and the order is
// fixed, so that the bits are the same on any number of threads. `ScatterElements` adds with atomics, in
// whatever order threads arrive. `GatherComputed` stores nothing in between: every node computes all its
// elements again.
#pragma once

#include <strata/miniapps/thermal/element_system.hpp>
#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Where the kernels read: arrays of the mesh, of the materials and of the state.
template <class Nodes, class Coordinates, class Blocks, class Materials, class Field>
struct ElementArrays {
  using device_type = typename Nodes::device_type;
  using value_type = typename Field::value_type;
  Nodes nodes;              // (element, corner)
  Coordinates coordinates;  // (node, direction)
  Blocks blocks;            // (element)
  Materials materials;      // (block, column)
  Field temperature, old;   // (node)
};

/// Reads what one element needs.
template <int Kind, class T, class Nodes, class Coordinates, class Blocks, class Materials, class Field>
STRATA_FUNCTION void read_element(auto e, const Nodes& nodes, const Coordinates& coordinates,
                                  const Blocks& blocks, const Materials& materials, const Field& temperature,
                                  const Field& old, ElementInput<T>& in) {
  const auto block = blocks(e);
  unrolled<material_columns>([&](auto m) { in.material[m] = materials(block, int(m)); });
  unrolled<8>([&](auto corner) {
    const auto node = nodes(e, int(corner));
    constexpr int b = bits_of_corner(corner);
    unrolled<3>([&](auto d) { in.x[d][b] = coordinates(node, int(d)); });
    if constexpr ((Kind & StateTerm) != 0) {
      in.temperature[b] = temperature(node);
      in.old[b] = old(node);
    }
  });
}

/// Stores the matrix and the vector of every element.
template <class T, int Kind, class Source>
struct ElementContributions {
  Coefficients<T> coefficients;
  Source source;

  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto blocks, auto materials,
                                  auto temperature, auto old, auto matrix, auto vector) const {
    ElementInput<T> in;
    read_element<Kind>(e, nodes, coordinates, blocks, materials, temperature, old, in);
    ElementSystem<T, Kind> system;
    compute_system(in, coefficients, source, system);
    unrolled<8>([&](auto corner) { vector(e, int(corner)) = system.load[bits_of_corner(corner)]; });
    if constexpr ((Kind & MatrixTerm) != 0)
      system.each_entry([&](auto i, auto j, T value) {
        constexpr int row = bits_of_corner(i), column = bits_of_corner(j);
        matrix(e, row, column) = value;
        if constexpr (i != j) matrix(e, column, row) = value;
      });
  }
};

/// The entries of a row that are summed at a time.
inline constexpr int row_window = 32;

/// Adds what the elements of a node stored into its row: matrix, and right-hand side.
template <class Offsets, class Corners, class RowMap, class Slots, class Matrix, class Vector, class Values,
          class Field>
struct GatherRows {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  Offsets offsets;  // (node): where its corners begin
  Corners corners;  // 8 * element + corner
  RowMap row_map;
  Slots slots;  // (element, corner, corner)
  Matrix matrix;
  Vector vector;
  Values values;
  Field b;

  STRATA_FUNCTION void operator()(index_t n) const {
    const index_t begin = row_map(n), length = row_map(n + 1) - begin;
    const index_t first_corner = offsets(n), last_corner = offsets(n + 1);
    for (index_t first = 0; first < length; first += row_window) {
      T row[row_window];
      for (int s = 0; s < row_window; ++s) row[s] = T(0);
      for (index_t k = first_corner; k < last_corner; ++k) {
        const index_t e = corners(k) / 8, c = corners(k) % 8;
        for (int j = 0; j < 8; ++j) {
          const index_t s = static_cast<index_t>(slots(e, c, j)) - first;
          if (s >= 0 && s < row_window) row[s] += matrix(e, c, j);
        }
      }
      const index_t count = length - first < row_window ? length - first : row_window;
      for (index_t s = 0; s < count; ++s) values(begin + first + s) = row[s];
    }
    T sum = T(0);
    for (index_t k = first_corner; k < last_corner; ++k) sum += vector(corners(k) / 8, corners(k) % 8);
    b(n) = sum;
  }
};

// clang++ before 17 deduces no arguments of aggregates by itself.
template <class... Views>
GatherRows(Views...) -> GatherRows<Views...>;

/// The same for the right-hand side alone.
template <class Offsets, class Corners, class Vector, class Field>
struct GatherVector {
  using device_type = typename Field::device_type;
  Offsets offsets;
  Corners corners;
  Vector vector;
  Field b;

  STRATA_FUNCTION void operator()(index_t n) const {
    typename Field::value_type sum = 0;
    for (index_t k = offsets(n); k < offsets(n + 1); ++k) sum += vector(corners(k) / 8, corners(k) % 8);
    b(n) = sum;
  }
};

template <class... Views>
GatherVector(Views...) -> GatherVector<Views...>;

/// Computes an element and adds it to the rows of its nodes by atomic additions.
template <int Kind, class Arrays, class Source, class RowMap, class Slots, class Values>
struct ScatterElements {
  using device_type = typename Arrays::device_type;
  using T = typename Arrays::value_type;
  Arrays in;
  Coefficients<T> coefficients;
  Source source;
  RowMap row_map;
  Slots slots;
  Values values;
  decltype(Arrays::temperature) b;

  STRATA_FUNCTION void operator()(index_t e) const {
    ElementInput<T> input;
    read_element<Kind>(e, in.nodes, in.coordinates, in.blocks, in.materials, in.temperature, in.old, input);
    ElementSystem<T, Kind> system;
    compute_system(input, coefficients, source, system);
    index_t row[8];
    for (int c = 0; c < 8; ++c) row[c] = row_map(in.nodes(e, c));
    unrolled<8>([&](auto c) { atomic_fetch_add(&b(in.nodes(e, int(c))), system.load[bits_of_corner(c)]); });
    system.each_entry([&](auto i, auto j, T value) {
      constexpr int first = bits_of_corner(i), second = bits_of_corner(j);
      atomic_fetch_add(&values(row[first] + slots(e, first, second)), value);
      if constexpr (i != j) atomic_fetch_add(&values(row[second] + slots(e, second, first)), value);
    });
  }
};

/// Computes every element of a node, and adds one row of each.
template <int Kind, class Arrays, class Source, class Offsets, class Corners, class RowMap, class Slots,
          class Values>
struct GatherComputed {
  using device_type = typename Arrays::device_type;
  using T = typename Arrays::value_type;
  Arrays in;
  Coefficients<T> coefficients;
  Source source;
  Offsets offsets;
  Corners corners;
  RowMap row_map;
  Slots slots;
  Values values;
  decltype(Arrays::temperature) b;

  STRATA_FUNCTION void operator()(index_t n) const {
    const index_t begin = row_map(n), end = row_map(n + 1);
    for (index_t k = begin; k < end; ++k) values(k) = T(0);
    T sum = T(0);
    for (index_t k = offsets(n); k < offsets(n + 1); ++k) {
      const index_t e = corners(k) / 8;
      const int c = static_cast<int>(corners(k) % 8);
      ElementInput<T> input;
      read_element<Kind>(e, in.nodes, in.coordinates, in.blocks, in.materials, in.temperature, in.old, input);
      ElementSystem<T, Kind> system;
      compute_system(input, coefficients, source, system);
      T row[8];
      unrolled<8>([&](auto corner) {
        if (corner == c) sum += system.load[bits_of_corner(corner)];
      });
      system.each_entry([&](auto i, auto j, T value) {
        constexpr int first = bits_of_corner(i), second = bits_of_corner(j);
        if (first == c) row[second] = value;
        else if (second == c) row[first] = value;
      });
      for (int j = 0; j < 8; ++j) values(begin + slots(e, c, j)) += row[j];
    }
    b(n) = sum;
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
