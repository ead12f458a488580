// The kernels that make the system of equations A y = b of a mesh.
//
// Three ways to the same sums. `ElementContributions` stores what every element gives, and `GatherRows` adds
// it up, a node its own row, elements ascending: no two work items write the same number and the order is
// fixed, so that the bits are the same on any number of threads. `ScatterElements` adds with atomics, in
// whatever order threads arrive. `GatherComputed` stores nothing in between: every node computes all its
// elements again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/launch_hints.hpp>
#include <strata/algorithms/team.hpp>
#include <strata/miniapps/fem/node_graph.hpp>
#include <strata/miniapps/thermal/element_system.hpp>
#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Where the kernels read: arrays of the mesh, of the materials and of the state.
template <class Nodes, class Coordinates, class Blocks, class Materials, class Field>
struct ElementArrays {
  using device_type = typename Nodes::device_type;
  using value_type = typename Field::value_type;
  Nodes nodes;                // (element, corner)
  Coordinates coordinates;    // (node, direction)
  Blocks blocks;              // (element)
  Materials materials;        // (block, column)
  Field temperature, change;  // (node)
};

/// Reads what one element needs.
template <int Kind, class T, class Nodes, class Coordinates, class Blocks, class Materials, class Field>
STRATA_FUNCTION void read_element(auto e, const Nodes& nodes, const Coordinates& coordinates,
                                  const Blocks& blocks, const Materials& materials, const Field& temperature,
                                  const Field& change, ElementInput<T>& in) {
  const auto block = blocks(e);
  unrolled<material_columns>([&](auto m) { in.material[m] = materials(block, int(m)); });
  unrolled<8>([&](auto corner) {
    const auto node = nodes(e, int(corner));
    constexpr int b = bits_of_corner(corner);
    unrolled<3>([&](auto d) { in.x[d][b] = coordinates(node, int(d)); });
    if constexpr ((Kind & StateTerm) != 0) {
      in.temperature[b] = temperature(node);
      in.change[b] = change(node);
    }
  });
}

/// Stores the matrix and the vector of every element.
template <class T, int Kind, class Source>
struct ElementContributions {
  Coefficients<T> coefficients;
  Source source;

  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto blocks, auto materials,
                                  auto temperature, auto change, auto matrix, auto vector) const {
    ElementInput<T> in;
    read_element<Kind>(e, nodes, coordinates, blocks, materials, temperature, change, in);
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
  // Without the matrix.
  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto blocks, auto materials,
                                  auto temperature, auto change, auto vector) const {
    static_assert((Kind & MatrixTerm) == 0);
    (*this)(e, nodes, coordinates, blocks, materials, temperature, change, vector, vector);
  }
};

/// The work of a launch of that on `elements` elements: small blocks, as the kernel takes many registers.
inline auto contributions_work(index_t elements) { return block_size(128, elements); }

/// Where what elements give to the rows of their nodes goes in the matrix.
template <class Nodes, class Slots, class RowMap, class Entries>
struct MatrixPlaces {
  Nodes nodes;  // (element, corner)
  Slots slots;  // (element, corner): fem::element_slots
  RowMap row_map;
  Entries entries;

  /// The entry of column j of element e in a row with the entries [begin, end), by the places in that row.
  STRATA_FUNCTION index_t find(fem::SlotWord word, index_t e, int j, index_t begin, index_t end) const {
    const index_t slot = fem::slot_of(word, j);
    if (slot < fem::far_slot) return begin + slot;
    return find_far(entries, begin, end, nodes(e, j));
  }

 private:
  // Out of the way of the loops, as few meshes need it; without the address of the kernel's parameters.
  [[gnu::noinline]] STRATA_FUNCTION static index_t find_far(Entries all, index_t begin, index_t end,
                                                            std::int32_t column) {
    return fem::find_entry(all, begin, end, column);
  }
};

template <class... Views>
MatrixPlaces(Views...) -> MatrixPlaces<Views...>;

/// Adds what the elements of node n stored to its row, whose sums are in `row`, and returns its right-hand
/// side. No place is far_slot.
///
/// The columns of an element differ, so that their sums may be read before any is written. Where the next
/// element is gets known one round ahead: devices wait for memory once a round.
template <class T, class Offsets, class Corners, class Slots, class Matrix, class Vector>
STRATA_FUNCTION T add_short_row(index_t n, const Offsets& offsets, const Corners& corners, const Slots& slots,
                                const Matrix& matrix, const Vector& vector, T* row) {
  T load = T(0);
  const index_t end = offsets(n + 1);
  index_t k = offsets(n);
  std::int32_t next = k < end ? corners(k) : 0;
  while (k < end) {
    const index_t e = next >> 3;
    const int c = next & 7;
    if (++k < end) next = corners(k);
    const fem::SlotWord word = slots(e, c);
    const T own_load = vector(e, c);
    T sums[8];
    unrolled<8>([&](auto j) { sums[j] = matrix(e, c, int(j)); });
    unrolled<8>([&](auto j) { sums[j] += row[fem::slot_of(word, j)]; });
    unrolled<8>([&](auto j) { row[fem::slot_of(word, j)] = sums[j]; });
    load += own_load;
  }
  return load;
}

/// The teams of GatherRows. Inside a block of elements rows have 27 entries. On a GPU so many rows that small
/// teams leave room for the first cache, which in double has half of the members wait until the sums are
/// written. On a host sums are added up where they stay, in the matrix.
template <class Device, class T>
struct GatherRowsShape {
  static constexpr bool has_scratch = !Device::memory_space::host_accessible;
  static constexpr index_t rows = has_scratch ? 512 / sizeof(T) : 16;
  static constexpr index_t window = has_scratch ? rows * 27 : 0;
};
/// The work of a launch of it.
template <class Device, class T>
constexpr auto gather_rows_work(index_t nodes) {
  using Shape = GatherRowsShape<Device, T>;
  return launch_bounds<128, 8>(
      teams((nodes + Shape::rows - 1) / Shape::rows).scratch(0, scratch_bytes<T>(Shape::window)));
}

/// Adds what the elements of a node stored into its row: matrix, and right-hand side.
///
/// A team has some neighbouring rows, whose entries lie side by side. On GPUs their sums are in its scratch
/// memory in the same order, so that any member may reach any entry of its row fast, and all of them together
/// write the sums as one piece. Rows are added up by a member each. Where the entries of the team's rows are
/// more than the scratch memory holds, it goes over the elements once for each part.
template <class Offsets, class Corners, class Places, class Matrix, class Vector, class Values, class Field>
struct GatherRows {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  Offsets offsets;  // (node): where its corners begin
  Corners corners;  // 8 * element + corner
  Places places;
  Matrix matrix;
  Vector vector;
  Values values;
  Field b;

  using Shape = GatherRowsShape<device_type, T>;
  static constexpr index_t rows = Shape::rows, window = Shape::window;

  /// The work of a launch.
  static constexpr auto work(index_t nodes) { return gather_rows_work<device_type, T>(nodes); }

  STRATA_FUNCTION void operator()(const auto& member) const {
    const index_t first = member.league_rank() * rows, nodes = b.extent(0);
    const index_t last = nodes - first < rows ? nodes : first + rows;
    const index_t begin = places.row_map(first), end = places.row_map(last);
    if constexpr (!Shape::has_scratch)
      return parallel_for(team_range(member, first, last), [&](index_t n) { sum_in_place(n); });
    T* const sums = member.template scratch<T>(0, window);
    index_t from = begin;
    do {
      const index_t to = end - from < window ? end : from + window;
      parallel_for(team_vector_range(member, to - from), [&](index_t k) { sums[k] = T(0); });
      member.barrier();
      parallel_for(team_range(member, first, last), [&](index_t n) {
        const index_t row = places.row_map(n), row_end = places.row_map(n + 1);
        if (row < row_end && (row_end <= from || row >= to)) return;  // in another part
        if (from <= row && row_end <= to && row_end - row <= fem::far_slot)
          b(n) = add_short_row(n, offsets, corners, places.slots, matrix, vector, sums + (row - from));
        else add_part(n, from, to, sums);
      });
      member.barrier();
      parallel_for(team_vector_range(member, to - from), [&](index_t k) { values(from + k) = sums[k]; });
      if (to < end) member.barrier();
      from = to;
    } while (from < end);
  }

 private:
  // Of hosts; the values of a matrix lie side by side.
  STRATA_FUNCTION void sum_in_place(index_t n) const {
    const index_t begin = places.row_map(n), end = places.row_map(n + 1);
    T* const row = begin < end ? &values(begin) : nullptr;
    for (index_t k = 0; k < end - begin; ++k) row[k] = T(0);
    if (end - begin <= fem::far_slot)
      b(n) = add_short_row(n, offsets, corners, places.slots, matrix, vector, row);
    else add_part(n, begin, end, row);
  }
  // The same as add_short_row for entries [from, to) of the matrix, of a row of any length.
  STRATA_FUNCTION void add_part(index_t n, index_t from, index_t to, T* sums) const {
    const index_t begin = places.row_map(n), end = places.row_map(n + 1);
    T load = T(0);
    for (index_t k = offsets(n); k < offsets(n + 1); ++k) {
      const index_t e = corners(k) >> 3;
      const int c = corners(k) & 7;
      const fem::SlotWord slots = places.slots(e, c);
      load += vector(e, c);
      for (int j = 0; j < 8; ++j) {
        const index_t entry = places.find(slots, e, j, begin, end);
        if (from <= entry && entry < to) sums[entry - from] += matrix(e, c, j);
      }
    }
    b(n) = load;
  }
};

// clang++ before 17 deduces no arguments of aggregates by itself.
template <class... Views>
GatherRows(Views...) -> GatherRows<Views...>;

/// What the elements of node n stored for its right-hand side.
template <class Offsets, class Corners, class Vector>
STRATA_FUNCTION auto load_of_node(index_t n, const Offsets& offsets, const Corners& corners,
                                  const Vector& vector) {
  std::remove_cvref_t<decltype(vector(0, 0))> sum = 0;
  for (index_t k = offsets(n); k < offsets(n + 1); ++k) sum += vector(corners(k) / 8, corners(k) % 8);
  return sum;
}

/// The same for the right-hand side alone.
template <class Offsets, class Corners, class Vector, class Field>
struct GatherVector {
  using device_type = typename Field::device_type;
  Offsets offsets;
  Corners corners;
  Vector vector;
  Field b;

  STRATA_FUNCTION void operator()(index_t n) const { b(n) = load_of_node(n, offsets, corners, vector); }
};

template <class... Views>
GatherVector(Views...) -> GatherVector<Views...>;

/// Computes an element and adds it to the rows of its nodes by atomic additions.
template <int Kind, class Arrays, class Source, class Places, class Values>
struct ScatterElements {
  using device_type = typename Arrays::device_type;
  using T = typename Arrays::value_type;
  Arrays in;
  Coefficients<T> coefficients;
  Source source;
  Places places;
  Values values;
  decltype(Arrays::temperature) b;

  STRATA_FUNCTION void operator()(index_t e) const {
    ElementInput<T> input;
    read_element<Kind>(e, in.nodes, in.coordinates, in.blocks, in.materials, in.temperature, in.change,
                       input);
    ElementSystem<T, Kind> system;
    compute_system(input, coefficients, source, system);
    index_t row[8], row_end[8];
    fem::SlotWord slots[8];
    unrolled<8>([&](auto c) {
      slots[c] = places.slots(e, int(c));
      row[c] = places.row_map(in.nodes(e, int(c)));
      row_end[c] = places.row_map(in.nodes(e, int(c)) + 1);
    });
    unrolled<8>([&](auto c) { atomic_fetch_add(&b(in.nodes(e, int(c))), system.load[bits_of_corner(c)]); });
    system.each_entry([&](auto i, auto j, T value) {
      constexpr int first = bits_of_corner(i), second = bits_of_corner(j);
      const auto add = [&](int at, int column) {
        atomic_fetch_add(&values(places.find(slots[at], e, column, row[at], row_end[at])), value);
      };
      add(first, second);
      if constexpr (i != j) add(second, first);
    });
  }
};

/// Computes every element of a node, and adds one row of each.
template <int Kind, class Arrays, class Source, class Offsets, class Corners, class Places, class Values>
struct GatherComputed {
  using device_type = typename Arrays::device_type;
  using T = typename Arrays::value_type;
  Arrays in;
  Coefficients<T> coefficients;
  Source source;
  Offsets offsets;
  Corners corners;
  Places places;
  Values values;
  decltype(Arrays::temperature) b;

  STRATA_FUNCTION void operator()(index_t n) const {
    const index_t begin = places.row_map(n), end = places.row_map(n + 1);
    for (index_t k = begin; k < end; ++k) values(k) = T(0);
    T sum = T(0);
    for (index_t k = offsets(n); k < offsets(n + 1); ++k) {
      const index_t e = corners(k) / 8;
      const int c = static_cast<int>(corners(k) % 8);
      ElementInput<T> input;
      read_element<Kind>(e, in.nodes, in.coordinates, in.blocks, in.materials, in.temperature, in.change,
                         input);
      ElementSystem<T, Kind> system;
      compute_system(input, coefficients, source, system);
      T row[8];
      unrolled<8>([&](auto corner) {
        if (corner == c) sum += system.load[bits_of_corner(corner)];
      });
      system.each_entry([&](auto i, auto j, T value) {
        constexpr int first = bits_of_corner(i), second = bits_of_corner(j);
        // Without an else, which would be one more selection of a register.
        if (first == c) row[second] = value;
        if constexpr (first != second) {
          if (second == c) row[first] = value;
        }
      });
      const fem::SlotWord slots = places.slots(e, c);
      for (int j = 0; j < 8; ++j) values(places.find(slots, e, j, begin, end)) += row[j];
    }
    b(n) = sum;
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
