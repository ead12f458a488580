// The kernels of a system that goes through the device in slices (streamed_system.hpp): those of
// assembly_kernels.hpp and boundary_kernels.hpp with elements and nodes at places, and the rows of the matrix
// in blocks. What is done to a row is the same code as in core, or adds in the same order, so that the bits
// are those in core.
//
// Work items of rows are (block, row in it). Fields of nodes are plain views, in the mesh's own order of
// nodes, which node_at(place) gives.
#pragma once

#include <strata/algorithms/linear/row_sum.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/streamed_mesh.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// A field as elements see it that know the places of nodes.
template <class Field, class NodeAt>
struct PlacedField {
  const Field& field;
  const NodeAt& node_at;
  STRATA_FUNCTION typename Field::value_type operator()(auto place) const { return field(node_at(place)); }
};

/// ElementContributions at places.
template <class T, int Kind, class Materials, class Field>
struct PlacedContributions {
  using device_type = typename Field::device_type;
  ElementContributions<T, Kind, BlockSource> contributions;
  Materials materials;
  Field temperature, change;

  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto blocks, auto node_at,
                                  auto matrix, auto vector) const {
    using NodeAt = decltype(node_at);
    contributions(e, nodes, coordinates, blocks, materials, PlacedField<Field, NodeAt>{temperature, node_at},
                  PlacedField<Field, NodeAt>{change, node_at}, matrix, vector);
  }
  // Without the matrix.
  STRATA_FUNCTION void operator()(auto e, auto nodes, auto coordinates, auto blocks, auto node_at,
                                  auto vector) const {
    static_assert((Kind & MatrixTerm) == 0);
    (*this)(e, nodes, coordinates, blocks, node_at, vector, vector);
  }
};

/// The entries of a block, for fem::find_entry.
template <class Entries>
struct EntriesOfBlock {
  const Entries& entries;
  index_t block;
  STRATA_FUNCTION std::int32_t operator()(index_t k) const { return entries(block, k); }
};

/// GatherRows: what the elements of a node stored is added up, elements in the mesh's order, from 0 on.
template <class Field>
struct GatherPlacedRows {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  Field b;

  // Named parameters: nvcc 13.0 ends with an internal error at ten of `auto`.
  template <class NodeAt, class Begins, class Offsets, class Corners, class Slots, class ElementNodes,
            class Entries, class Matrix, class Vector, class Values>
  STRATA_FUNCTION void operator()(index_t block, index_t r, const NodeAt& node_at, const Begins& begins,
                                  const Offsets& offsets, const Corners& corners, const Slots& slots,
                                  const ElementNodes& element_nodes, const Entries& entries,
                                  const Matrix& matrix, const Vector& vector, const Values& values) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const index_t begin = begins(block, r), end = begins(block, r + 1);
    const EntriesOfBlock<Entries> columns{entries, block};
    for (index_t k = begin; k < end; ++k) values(block, k) = T(0);
    T load = T(0);
    for (index_t k = offsets(place); k < offsets(place + 1); ++k) {
      const index_t e = corners(k) >> 3;
      const int c = corners(k) & 7;
      const fem::SlotWord word = slots(e, c);
      load += vector(e, c);
      for (int j = 0; j < 8; ++j) {
        const index_t slot = fem::slot_of(word, j);
        const index_t entry = slot < fem::far_slot
                                  ? begin + slot
                                  : fem::find_entry(columns, begin, end, node_at(element_nodes(e, j)));
        values(block, entry) += matrix(e, c, j);
      }
    }
    b(node_at(place)) = load;
  }
};

/// GatherVector.
template <class Field>
struct GatherPlacedVector {
  using device_type = typename Field::device_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  Field b;

  STRATA_FUNCTION void operator()(index_t block, index_t r, const auto& node_at, const auto& offsets,
                                  const auto& corners, const auto& vector) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    b(node_at(place)) = load_of_node(place, offsets, corners, vector);
  }
};

/// MatrixRow, of a block.
template <class Entries, class Values>
struct PlacedRow {
  const Entries& entries;
  const Values& values;
  index_t block, begin, end;
  STRATA_FUNCTION index_t column(index_t k) const { return entries(block, k); }
  STRATA_FUNCTION decltype(auto) value(index_t k) const { return values(block, k); }
};

/// EachRow: operation(i, row), i being the mesh's number of the node.
template <class Operation>
struct EachPlacedRow {
  using device_type = typename Operation::device_type;
  static constexpr bool last_index_fastest = true;
  index_t nodes;
  Operation operation;

  template <class NodeAt, class Begins, class Entries, class Values>
  STRATA_FUNCTION void operator()(index_t block, index_t r, const NodeAt& node_at, const Begins& begins,
                                  const Entries& entries, const Values& values) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    operation(node_at(place),
              PlacedRow<Entries, Values>{entries, values, block, begins(block, r), begins(block, r + 1)});
  }
};

/// ReduceRows, of operations whose values may be joined in any order.
template <class Operation>
struct ReducePlacedRows {
  using device_type = typename Operation::device_type;
  using value_type = typename Operation::value_type;
  static constexpr bool any_order = true, last_index_fastest = true;
  index_t nodes;
  Operation operation;

  template <class NodeAt, class Begins, class Entries, class Values>
  STRATA_FUNCTION void operator()(index_t block, index_t r, const NodeAt& node_at, const Begins& begins,
                                  const Entries& entries, const Values& values, value_type& value) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    operation(node_at(place),
              PlacedRow<Entries, Values>{entries, values, block, begins(block, r), begins(block, r + 1)},
              value);
  }
  STRATA_FUNCTION static void init(value_type& value) { Operation::init(value); }
  STRATA_FUNCTION static void join(value_type& value, const value_type& other) {
    Operation::join(value, other);
  }
};

/// What conjugate gradients ask of the rows.
enum class RowOperation : int {
  Product,    ///< y = A x
  Diagonal,   ///< y(i) = a_ii, or 0
  Magnitudes  ///< y(i) = the sum of |a_ij|
};

/// The products of a row's entries with a vector.
template <class Row, class X>
struct ProductsOfRow {
  const Row& row;
  const X& x;
  STRATA_FUNCTION auto product(index_t k) const { return row.value(k) * x(row.column(k)); }
};

template <class Field>
struct ApplyRow {
  using device_type = typename Field::device_type;
  using T = typename Field::value_type;
  RowOperation operation;
  int group;  // as linear::spmv has it
  Field x, y;

  template <class Row>
  STRATA_FUNCTION void operator()(index_t i, const Row& row) const {
    T result = T(0);
    if (operation == RowOperation::Product) {
      result = linear::sum_of_row<T>(ProductsOfRow<Row, Field>{row, x}, row.begin, row.end, group);
    } else if (operation == RowOperation::Diagonal) {
      for (index_t k = row.begin; k < row.end; ++k)
        if (row.column(k) == i) result = row.value(k);
    } else {
      for (index_t k = row.begin; k < row.end; ++k) {
        const T a = row.value(k);
        result += a < 0 ? -a : a;
      }
    }
    y(i) = result;
  }
};

/// What TrueResidual adds up, of each node.
template <class Field, class Doubles>
struct StoreResidual {
  using device_type = typename Field::device_type;
  Field b, y;
  Doubles rest, magnitude;

  template <class Row>
  STRATA_FUNCTION void operator()(index_t i, const Row& row) const {
    const ResidualOfRow result = residual_of_row(row, static_cast<double>(b(i)), y);
    rest(i) = result.rest;
    magnitude(i) = result.magnitude;
  }
};
/// And the sums over free nodes.
template <class Conditions, class Field, class Doubles>
struct SumOfResiduals {
  using device_type = typename Field::device_type;
  using value_type = ResidualSquares;
  Conditions conditions;
  Field b;
  Doubles rest, magnitude;

  STRATA_FUNCTION void operator()(index_t i, value_type& squares) const {
    if (conditions(i) != free_node) return;
    const auto own = static_cast<double>(b(i));
    join(squares, {rest(i) * rest(i), own * own, magnitude(i) * magnitude(i)});
  }
  STRATA_FUNCTION static void init(value_type& squares) { TrueResidual<Conditions, Field>::init(squares); }
  STRATA_FUNCTION static void join(value_type& squares, const value_type& other) {
    TrueResidual<Conditions, Field>::join(squares, other);
  }
};
template <class Conditions, class Field, class Doubles>
SumOfResiduals(Conditions, Field, Doubles, Doubles) -> SumOfResiduals<Conditions, Field, Doubles>;

/// Integrals, of elements in the mesh's own order.
template <class Materials, class Field>
struct StreamedIntegrals {
  using device_type = typename Field::device_type;
  using value_type = HeatIntegrals;
  Materials materials;
  Field temperature, change;
  double beta, sink, rate;

  STRATA_FUNCTION void operator()(index_t e, const auto& nodes, const auto& coordinates, const auto& blocks,
                                  value_type& sum) const {
    using Arrays =
        ElementArrays<std::remove_cvref_t<decltype(nodes)>, std::remove_cvref_t<decltype(coordinates)>,
                      std::remove_cvref_t<decltype(blocks)>, Materials, Field>;
    Integrals<Arrays>{{nodes, coordinates, blocks, materials, temperature, change}, beta, sink, rate}(e, sum);
  }
  STRATA_FUNCTION static void init(value_type& sum) { Integrals<HasDevice>::init(sum); }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) {
    Integrals<HasDevice>::join(sum, other);
  }

 private:
  struct HasDevice {
    using device_type = typename Field::device_type;
  };
};

}  // namespace strata::inline STRATA_ABI::thermal
