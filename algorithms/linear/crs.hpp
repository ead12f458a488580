// CrsGraph and CrsMatrix: sparse matrices in compressed rows.
//
//   row i has the entries k = row_map(i) ... row_map(i+1) - 1: column entries(k), coefficient values(k)
//
// Columns ascend within a row, without duplicates; crs_create.hpp makes such matrices, and checks arrays made
// elsewhere. Both classes are handles, as views are: copies share the arrays. The structure of a graph never
// changes; the coefficients of a matrix may, by any kernel. Column indices are 32-bit unless asked otherwise
// (a product reads little else besides the coefficients), offsets 64-bit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/vendor.hpp>
#include <strata/core/fail.hpp>
#include <strata/views/mdarray.hpp>

namespace strata::inline STRATA_ABI::linear {

/// Where the entries of a sparse matrix are, in the memory of `Device`.
template <class Device, class Ordinal = std::int32_t, class Offset = index_t>
class CrsGraph {
 public:
  static_assert((std::is_same_v<Ordinal, std::int32_t> ||
                 std::is_same_v<Ordinal, std::int64_t>)&&(std::is_same_v<Offset, std::int32_t> ||
                                                          std::is_same_v<Offset, std::int64_t>),
                "strata: CrsGraph: columns and offsets are std::int32_t or std::int64_t");
  /// The parameters, and the arrays: offsets of the rows and columns of the entries.
  using device_type = Device;
  using ordinal_type = Ordinal;
  using offset_type = Offset;
  using row_map_type = MDArray<const Offset, Device, rank<1>>;
  using entries_type = MDArray<const Ordinal, Device, rank<1>>;

  /// A null graph.
  CrsGraph() = default;
  /// A graph of these arrays; row_map has rows + 1 elements. ShapeMismatch, ExtentError. Elements are not
  /// checked here: see `check` of crs_create.hpp.
  CrsGraph(index_t rows, index_t columns, const row_map_type& row_map, const entries_type& entries)
      : rows_(rows), columns_(columns), row_map_(row_map), entries_(entries) {
    if (rows < 0) strata::detail::fail_extent(0, rows, "a matrix has no negative number of rows");
    if (columns < 0) strata::detail::fail_extent(1, columns, "a matrix has no negative number of columns");
    if (row_map.extent(0) != rows + 1) {
      const index_t found[] = {row_map.extent(0)}, wanted[] = {rows + 1};
      strata::detail::fail_shapes("CrsGraph", row_map.label(), found, 1, "row_map of rows + 1 offsets",
                                  wanted, 1);
    }
  }

  /// The shape, the number of entries, the arrays, and whether it is the graph of anything.
  index_t rows() const { return rows_; }
  index_t columns() const { return columns_; }
  index_t entry_count() const { return entries_.extent(0); }
  const row_map_type& row_map() const { return row_map_; }
  const entries_type& entries() const { return entries_; }
  explicit operator bool() const { return static_cast<bool>(row_map_); }

 private:
  index_t rows_ = 0;
  index_t columns_ = 0;
  row_map_type row_map_;
  entries_type entries_;
};

/// A sparse matrix: a graph and a coefficient for each of its entries.
template <class T, class Device, class Ordinal = std::int32_t, class Offset = index_t>
class CrsMatrix {
 public:
  /// The parameters, and the types of graph and coefficients.
  using value_type = T;
  using device_type = Device;
  using ordinal_type = Ordinal;
  using offset_type = Offset;
  using graph_type = CrsGraph<Device, Ordinal, Offset>;
  using values_type = MDArray<T, Device, rank<1>>;

  /// A null matrix.
  CrsMatrix() = default;
  /// ShapeMismatch unless there is one value an entry.
  CrsMatrix(const graph_type& graph, const values_type& values)
      : graph_(graph), values_(values), vendor_plans_(strata::detail::make_vendor_plans<Device>()) {
    if (values.extent(0) != graph.entry_count()) {
      const index_t found[] = {values.extent(0)}, wanted[] = {graph.entry_count()};
      strata::detail::fail_shapes("CrsMatrix", values.label(), found, 1, graph.entries().label(), wanted, 1);
    }
  }

  /// The shape, the number of entries, graph and coefficients, and whether it is a matrix at all.
  index_t rows() const { return graph_.rows(); }
  index_t columns() const { return graph_.columns(); }
  index_t entry_count() const { return graph_.entry_count(); }
  const graph_type& graph() const { return graph_; }
  const values_type& values() const { return values_; }
  explicit operator bool() const { return static_cast<bool>(graph_); }
  /// The data of a vendor library for the matrix (see vendor.hpp).
  const strata::detail::Ref<strata::detail::RefCounted>& vendor_plans() const { return vendor_plans_; }

 private:
  graph_type graph_;
  values_type values_;
  strata::detail::Ref<strata::detail::RefCounted> vendor_plans_;
};

}  // namespace strata::inline STRATA_ABI::linear
