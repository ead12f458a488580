// The kernels of a system that is not on one device (block_rows.hpp): those of assembly_kernels.hpp and
// boundary_kernels.hpp with elements and nodes at places, and the rows of the matrix in blocks. What is done
// to a row is the same code as in core, or adds in the same order, so that the bits are those in core.
//
// Work items of rows are (block, row in it). Numbers of nodes are in the mesh's own order of nodes, which
// node_at(place) gives.
//
// On GPUs several threads take a row, where the rows of the arrays are not in slices: then work items are the
// threads of all rows, and places are the mesh's own order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/row_sum.hpp>
#include <strata/algorithms/linear/spmv_kernels.hpp>
#include <strata/miniapps/thermal/boundary_kernels.hpp>
#include <strata/miniapps/thermal/placed_mesh.hpp>

namespace strata::inline STRATA_ABI::thermal {

/// Numbers of nodes as elements see them that know the places of nodes.
template <class Field, class NodeAt>
struct PlacedField {
  const Field& field;
  const NodeAt& node_at;
  STRATA_FUNCTION typename Field::value_type operator()(auto place) const { return field(node_at(place)); }
};

/// ElementContributions at places.
template <class T, int Kind>
struct PlacedContributions {
  ElementContributions<T, Kind, BlockSource> contributions;

  // Named parameters: nvcc 13.0 ends with an internal error at ten of `auto`.
  template <class E, class Nodes, class Coordinates, class Blocks, class NodeAt, class Materials, class Field,
            class... Results>
  STRATA_FUNCTION void operator()(E e, const Nodes& nodes, const Coordinates& coordinates,
                                  const Blocks& blocks, const NodeAt& node_at, const Materials& materials,
                                  const Field& temperature, const Field& change,
                                  const Results&... results) const {
    contributions(e, nodes, coordinates, blocks, materials, PlacedField<Field, NodeAt>{temperature, node_at},
                  PlacedField<Field, NodeAt>{change, node_at}, results...);
  }
};

/// The entries of a block, or their values.
template <class Array>
struct OfBlock {
  const Array& array;
  index_t block;
  STRATA_FUNCTION decltype(auto) operator()(index_t k) const { return array(block, k); }
};

/// GatherRows: what the elements of a node stored is added up, elements in the mesh's order, from 0 on. Sums
/// of short rows are kept by the work item until they are complete, so that each is written once.
struct GatherPlacedRows {
  static constexpr bool last_index_fastest = true;
  static constexpr index_t short_row = 32;  // inside of a block of elements they have 27 entries
  index_t nodes;

  template <class NodeAt, class Begins, class Offsets, class Corners, class Slots, class ElementNodes,
            class Entries, class Matrix, class Vector, class Values, class Field>
  STRATA_FUNCTION void operator()(index_t block, index_t r, const NodeAt& node_at, const Begins& begins,
                                  const Offsets& offsets, const Corners& corners, const Slots& slots,
                                  const ElementNodes& element_nodes, const Entries& entries,
                                  const Matrix& matrix, const Vector& vector, const Values& values,
                                  const Field& b) const {
    using T = typename Values::value_type;
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const index_t begin = begins(block, r), end = begins(block, r + 1);
    T load = T(0);
    if (end - begin <= short_row) {
      T sums[short_row];
      for (index_t k = 0; k < end - begin; ++k) sums[k] = T(0);
      load = add_short_row(place, offsets, corners, slots, matrix, vector, sums);
      for (index_t s = 0; s < end - begin; ++s) values(block, begin + s) = sums[s];
    } else {
      const OfBlock<Entries> columns{entries, block};
      for (index_t k = begin; k < end; ++k) values(block, k) = T(0);
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
    }
    b(node_at(place)) = load;
  }
};

/// GatherVector.
struct GatherPlacedVector {
  static constexpr bool last_index_fastest = true;
  index_t nodes;

  STRATA_FUNCTION void operator()(index_t block, index_t r, const auto& node_at, const auto& offsets,
                                  const auto& corners, const auto& vector, const auto& b) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    b(node_at(place)) = load_of_node(place, offsets, corners, vector);
  }
};

/// EachRow, i being the mesh's number of the node.
template <class Operation>
struct EachPlacedRow : Operation {
  static constexpr bool last_index_fastest = true;
  index_t nodes;

  template <class NodeAt, class Begins, class Entries, class Values, class... Numbers>
  STRATA_FUNCTION void operator()(index_t block, index_t r, const NodeAt& node_at, const Begins& begins,
                                  const Entries& entries, const Values& values, Numbers&&... numbers) const {
    const index_t place = row_block * block + r;
    if (place >= nodes) return;
    const OfBlock<Entries> columns{entries, block};
    const OfBlock<Values> own{values, block};
    Operation::operator()(
        node_at(place),
        MatrixRow<OfBlock<Entries>, OfBlock<Values>>{columns, own, begins(block, r), begins(block, r + 1)},
        numbers...);
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

struct ApplyRow {
  RowOperation operation;
  int group;  // as linear::spmv has it

  template <class Row, class X, class Y>
  STRATA_FUNCTION void operator()(index_t i, const Row& row, const X& x, const Y& y) const {
    using T = typename Y::value_type;
    T result = T(0);
    if (operation == RowOperation::Product) {
      result = linear::sum_of_row<T>(ProductsOfRow<Row, X>{row, x}, row.begin, row.end, group);
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
  // Of those that read no x.
  template <class Row, class Y>
  STRATA_FUNCTION void operator()(index_t i, const Row& row, const Y& y) const {
    (*this)(i, row, y, y);
  }
};

/// The rows of blocks, as products by several threads a row take them: entry k is that of the block.
template <class Begins, class Entries, class Values, class X>
struct RowsOfBlocks {
  using T = typename X::value_type;
  using Ordinal = std::int32_t;
  Begins begins;
  Entries entries;
  Values values;
  X x;

  STRATA_FUNCTION index_t begin(index_t i) const { return begins(i / row_block, i % row_block); }
  STRATA_FUNCTION index_t end(index_t i) const { return begins(i / row_block, i % row_block + 1); }
  STRATA_FUNCTION Ordinal column(index_t i, index_t k) const { return entries(i / row_block, k); }
  STRATA_FUNCTION T value(index_t i, index_t k) const { return values(i / row_block, k); }
  /// By one thread.
  STRATA_FUNCTION T row(index_t i) const {
    const OfBlock<Entries> columns{entries, i / row_block};
    const OfBlock<Values> own{values, i / row_block};
    using Row = MatrixRow<OfBlock<Entries>, OfBlock<Values>>;
    const Row row{columns, own, begin(i), end(i)};
    return linear::sum_of_row<T>(ProductsOfRow<Row, X>{row, x}, row.begin, row.end);
  }
};
/// y = A x by `Lanes` threads a row: a factory.
template <int Lanes>
struct MultiplyByLanes {
  template <class Begins, class Entries, class Values, class X, class Y>
  auto operator()(const Begins& begins, const Entries& entries, const Values& values, const X& x,
                  const Y& y) const {
    using namespace strata::detail;
    using Rows = RowsOfBlocks<Begins, Entries, Values, X>;
    using Kernel = SpmvKernel<Rows, OneScalar, ZeroScalar, Y>;
    return SpmvGroupKernel<Kernel, Lanes>{Kernel{Rows{begins, entries, values, x}, {}, {}, y}};
  }
};

/// What TrueResidual adds up, of each node.
struct StoreResidual {
  template <class Row>
  STRATA_FUNCTION void operator()(index_t i, const Row& row, const auto& b, const auto& y, const auto& rest,
                                  const auto& magnitude) const {
    const ResidualOfRow result = residual_of_row(row, static_cast<double>(b(i)), y);
    rest(i) = result.rest;
    magnitude(i) = result.magnitude;
  }
};
/// And the sums over free nodes.
struct SumOfResiduals {
  STRATA_FUNCTION void operator()(index_t i, const auto& conditions, const auto& b, const auto& rest,
                                  const auto& magnitude, ResidualSquares& squares) const {
    if (conditions(i) != free_node) return;
    const auto own = static_cast<double>(b(i));
    squares += {rest(i) * rest(i), own * own, magnitude(i) * magnitude(i)};
  }
};

}  // namespace strata::inline STRATA_ABI::thermal
