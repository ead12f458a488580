// Building sparse matrices: from rows or from triplets that the host has, or from arrays on the device.
//
//   using Matrix = linear::CrsMatrix<double, Cuda>;
//   auto a = linear::create_crs<Matrix>("A", rows, columns, row_map, entries, values);  // std::vector, span
//   auto b = linear::create_crs_from_coo<Matrix>("B", rows, columns, i, j, v);          // in any order
//   linear::check("C", graph);                                                          // of device arrays
//
// Input is validated: MatrixError says which row is wrong, and why; ShapeMismatch and ExtentError say that
// sizes do not fit. The host's arrays are copied and need not outlive the call. A last `on(device)` chooses
// the instance. These calls wait.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <strata/algorithms/linear/crs.hpp>
#include <strata/algorithms/linear/crs_check.hpp>
#include <strata/algorithms/linear/place.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/views/create.hpp>
#include <strata/views/deep_copy.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class Graph>
void check_crs_sizes(const char* label, index_t rows, index_t columns, index_t entries) {
  if (rows < 0) fail_extent(0, rows, "a matrix has no negative number of rows");
  if (columns < 0) fail_extent(1, columns, "a matrix has no negative number of columns");
  const auto fits = [](index_t count, int bytes) { return bytes == 8 || count <= INT32_MAX; };
  if (!fits(columns, sizeof(typename Graph::ordinal_type)))
    fail_matrix_indices(label, "columns", columns, 32);
  if (!fits(entries, sizeof(typename Graph::offset_type))) fail_matrix_indices(label, "entries", entries, 32);
}

inline void require_count(const char* label, const char* what, std::size_t found, index_t wanted) {
  const index_t have[] = {static_cast<index_t>(found)}, want[] = {wanted};
  if (have[0] != want[0]) fail_shapes(label, what, have, 1, "what the matrix needs", want, 1);
}

/// A new array with the elements of a host array.
template <class T, class D>
MDArray<T, D, rank<1>> upload(const char* label, std::span<const T> host, const On<D>& where) {
  using Array = MDArray<T, D, rank<1>>;
  const auto count = static_cast<index_t>(host.size());
  const Array array = create<Array>(label, count, uninitialized, on(where.device));
  const View<const T, Serial, typename Array::extents_type, typename Array::layout_type> source(host.data(),
                                                                                                count);
  deep_copy(array, source);
  return array;
}

/// The least 4 * row + fault of the rows that are wrong: the row-wise part of check_crs_arrays.
template <class Graph>
struct CheckCrsRows {
  using device_type = typename Graph::device_type;
  using value_type = index_t;
  typename Graph::row_map_type row_map;
  typename Graph::entries_type entries;
  index_t rows, columns;

  STRATA_FUNCTION void operator()(index_t i, index_t& first) const {
    const index_t count = entries.extent(0), begin = row_map(i), end = row_map(i + 1);
    if (begin < 0 || begin > end || end > count || (i == 0 && begin != 0) || (i + 1 == rows && end != count))
      return note(i, MatrixFault::RowMap, first);
    index_t before = -1;
    for (index_t k = begin; k < end; ++k) {
      const index_t column = entries(k);
      if (column < 0 || column >= columns) return note(i, MatrixFault::OutOfRange, first);
      if (column == before) return note(i, MatrixFault::Duplicate, first);
      if (column < before) return note(i, MatrixFault::Unsorted, first);
      before = column;
    }
  }
  STRATA_FUNCTION static void init(index_t& first) { first = none; }
  STRATA_FUNCTION static void join(index_t& first, const index_t& other) {
    if (other < first) first = other;
  }

  static constexpr index_t none = INT64_MAX;

 private:
  STRATA_FUNCTION static void note(index_t i, MatrixFault fault, index_t& first) {
    join(first, 4 * i + static_cast<index_t>(fault));
  }
};

/// Elements [first, last) of an array of the device, on the host.
template <class V>
std::vector<typename V::value_type> fetch_elements(const V& view, index_t first, index_t last) {
  using T = typename V::value_type;
  std::vector<T> host(static_cast<std::size_t>(last - first));
  const V part(view.allocation(), view.data() + first,
               typename V::mapping_type(typename V::extents_type(last - first)));
  const View<T, Serial, typename V::extents_type, typename V::layout_type> target(host.data(), last - first);
  deep_copy(target, part);
  return host;
}

}  // namespace detail

namespace linear {

/// Throws MatrixError, with the name `label`, unless the arrays of the graph are valid. Checks on the device.
template <class Device, class Ordinal, class Offset>
void check(const char* label, const CrsGraph<Device, Ordinal, Offset>& graph) {
  using Kernel = strata::detail::CheckCrsRows<CrsGraph<Device, Ordinal, Offset>>;
  const index_t rows = graph.rows();
  const auto ends = [&](index_t i) { return strata::detail::fetch_elements(graph.row_map(), i, i + 2); };
  if (rows == 0) {
    const Offset zero = strata::detail::fetch_elements(graph.row_map(), 0, 1)[0];
    if (zero != 0 || graph.entry_count() != 0)
      strata::detail::fail_matrix(label, MatrixFault::RowMap, 0, 0, zero, graph.entry_count());
    return;
  }
  const auto where = on(strata::detail::device_of(graph.row_map()));
  const index_t first = parallel_reduce("linear::check", where, rows,
                                        Kernel{graph.row_map(), graph.entries(), rows, graph.columns()});
  if (first == Kernel::none) return;
  const index_t row = first / 4;
  const auto fault = static_cast<MatrixFault>(first % 4);
  const index_t begin = ends(row)[0], end = ends(row)[1];
  if (fault == MatrixFault::RowMap) strata::detail::fail_matrix(label, fault, row, begin, begin, end);
  // The host finds the entry, in this row only.
  const auto entries = strata::detail::fetch_elements(graph.entries(), begin, end);
  const std::vector<Ordinal>& columns = entries;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const index_t column = columns[k], entry = begin + static_cast<index_t>(k);
    if (column < 0 || column >= graph.columns())
      strata::detail::fail_matrix(label, fault, row, entry, column, graph.columns());
    if (k > 0 && column <= columns[k - 1])
      strata::detail::fail_matrix(label, fault, row, entry, column, columns[k - 1]);
  }
}

/// A graph of rows that the host has: row_map has rows + 1 offsets, entries the columns of one row after the
/// other.
template <class Graph>
[[nodiscard]] Graph create_crs_graph(const char* label, index_t rows, index_t columns,
                                     std::span<const typename Graph::offset_type> row_map,
                                     std::span<const typename Graph::ordinal_type> entries,
                                     const On<typename Graph::device_type>& where = {}) {
  using Ordinal = typename Graph::ordinal_type;
  using Offset = typename Graph::offset_type;
  const auto count = static_cast<index_t>(entries.size());
  strata::detail::check_crs_sizes<Graph>(label, rows, columns, count);
  strata::detail::require_count(label, "row_map", row_map.size(), rows + 1);
  strata::detail::check_crs_arrays(strata::detail::CrsArrays<Ordinal, Offset>{
      label, rows, columns, row_map.data(), entries.data(), count});
  return Graph(rows, columns, strata::detail::upload<Offset>(label, row_map, where),
               strata::detail::upload<Ordinal>(label, entries, where));
}

/// A matrix of rows that the host has.
template <class Matrix>
[[nodiscard]] Matrix create_crs(const char* label, index_t rows, index_t columns,
                                std::span<const typename Matrix::offset_type> row_map,
                                std::span<const typename Matrix::ordinal_type> entries,
                                std::span<const typename Matrix::value_type> values,
                                const On<typename Matrix::device_type>& where = {}) {
  strata::detail::require_count(label, "values", values.size(), static_cast<index_t>(entries.size()));
  const auto graph =
      create_crs_graph<typename Matrix::graph_type>(label, rows, columns, row_map, entries, where);
  return Matrix(graph, strata::detail::upload<typename Matrix::value_type>(label, values, where));
}

/// A matrix of triplets in any order: values(t) at (row(t), column(t)). Several values at one place are
/// added, in the order given, or are an error.
template <class Matrix>
[[nodiscard]] Matrix create_crs_from_coo(const char* label, index_t rows, index_t columns,
                                         std::span<const typename Matrix::ordinal_type> row,
                                         std::span<const typename Matrix::ordinal_type> column,
                                         std::span<const typename Matrix::value_type> values,
                                         Duplicates duplicates = Duplicates::Sum,
                                         const On<typename Matrix::device_type>& where = {}) {
  using Ordinal = typename Matrix::ordinal_type;
  using Offset = typename Matrix::offset_type;
  using T = typename Matrix::value_type;
  const std::size_t count = values.size();
  strata::detail::check_crs_sizes<Matrix>(label, rows, columns, static_cast<index_t>(count));
  strata::detail::require_count(label, "rows of triplets", row.size(), static_cast<index_t>(count));
  strata::detail::require_count(label, "columns of triplets", column.size(), static_cast<index_t>(count));
  std::vector<Offset> row_map(static_cast<std::size_t>(rows) + 1);
  std::vector<Ordinal> entries(count);
  std::vector<index_t> order(count), place(count);
  const index_t written = strata::detail::order_coo(
      strata::detail::CooArrays<Ordinal>{label, rows, columns, row.data(), column.data(),
                                         static_cast<index_t>(count)},
      duplicates, row_map.data(), entries.data(), order.data(), place.data());
  entries.resize(static_cast<std::size_t>(written));
  std::vector<T> sums(entries.size());
  for (std::size_t k = 0; k < count; ++k) {
    T& sum = sums[static_cast<std::size_t>(place[k])];
    const T& value = values[static_cast<std::size_t>(order[k])];
    const bool first = k == 0 || place[k] != place[k - 1];
    sum = first ? value : static_cast<T>(sum + value);
  }
  using Graph = typename Matrix::graph_type;
  const Graph graph(rows, columns, strata::detail::upload<Offset>(label, row_map, where),
                    strata::detail::upload<Ordinal>(label, entries, where));
  return Matrix(graph, strata::detail::upload<T>(label, sums, where));
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
