// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/linear/crs_check.hpp>

namespace strata::inline STRATA_ABI::detail {

void fail_matrix(const char* label, MatrixFault fault, index_t row, index_t entry, index_t found,
                 index_t other) {
  const auto text = [](index_t n) { return std::to_string(n); };
  const std::string where = "the matrix \"" + std::string(label) + "\", row " + text(row) + ": ";
  std::string what;
  switch (fault) {
    case MatrixFault::RowMap:
      what = "its entries begin at " + text(found) + " and end at " + text(other) +
             "; row maps begin with 0, never descend and end with the number of entries";
      break;
    case MatrixFault::OutOfRange:
      what = "index " + text(found) + " at entry " + text(entry) + " is not in [0, " + text(other) + ")";
      break;
    case MatrixFault::Unsorted:
      what = "column " + text(found) + " at entry " + text(entry) + " follows column " + text(other) +
             "; columns ascend within a row. create_crs_from_coo takes them in any order";
      break;
    case MatrixFault::Duplicate:
      what = "column " + text(found) + " is there twice, again at entry " + text(entry) +
             "; create_crs_from_coo adds the values of one place with Duplicates::Sum";
      break;
  }
  throw linear::MatrixError(fault, row, where + what);
}

void fail_matrix_indices(const char* label, const char* what, index_t count, int bits) {
  throw ExtentError("the matrix \"" + std::string(label) + "\" has " + std::to_string(count) + " " + what +
                    ", more than integers of " + std::to_string(bits) +
                    " bits can count; use a CrsMatrix with wider integers");
}

template <class Ordinal, class Offset>
void check_crs_arrays(const CrsArrays<Ordinal, Offset>& a) {
  for (index_t i = 0; i < a.rows; ++i) {
    const index_t begin = a.row_map[i], end = a.row_map[i + 1];
    if (begin > end || end > a.entry_count || (i == 0 && begin != 0) ||
        (i + 1 == a.rows && end != a.entry_count))
      fail_matrix(a.label, MatrixFault::RowMap, i, begin, begin, end);
    for (index_t k = begin; k < end; ++k) {
      const index_t column = a.entries[k];
      if (column < 0 || column >= a.columns)
        fail_matrix(a.label, MatrixFault::OutOfRange, i, k, column, a.columns);
      if (k == begin) continue;
      const index_t before = a.entries[k - 1];
      if (column == before) fail_matrix(a.label, MatrixFault::Duplicate, i, k, column, before);
      if (column < before) fail_matrix(a.label, MatrixFault::Unsorted, i, k, column, before);
    }
  }
  if (a.rows == 0 && (a.row_map[0] != 0 || a.entry_count != 0))
    fail_matrix(a.label, MatrixFault::RowMap, 0, 0, a.row_map[0], a.entry_count);
}

template <class Ordinal, class Offset>
index_t order_coo(const CooArrays<Ordinal>& coo, Duplicates duplicates, Offset* row_map, Ordinal* entries,
                  index_t* order, index_t* place) {
  // 1. Into rows, by counting.
  std::vector<index_t> next(static_cast<std::size_t>(coo.rows) + 1, 0);
  for (index_t t = 0; t < coo.count; ++t) {
    const index_t row = coo.row[t], column = coo.column[t];
    if (row < 0 || row >= coo.rows) fail_matrix(coo.label, MatrixFault::OutOfRange, row, t, row, coo.rows);
    if (column < 0 || column >= coo.columns)
      fail_matrix(coo.label, MatrixFault::OutOfRange, row, t, column, coo.columns);
    ++next[static_cast<std::size_t>(row) + 1];
  }
  for (std::size_t i = 1; i < next.size(); ++i) next[i] += next[i - 1];
  for (index_t t = 0; t < coo.count; ++t) order[next[static_cast<std::size_t>(coo.row[t])]++] = t;

  // 2. Within each row by column, the triplets of one place in the order given; next[i] is the end of row i
  // now.
  index_t begin = 0, written = 0;
  row_map[0] = 0;
  for (index_t i = 0; i < coo.rows; ++i) {
    const index_t end = next[static_cast<std::size_t>(i)];
    std::stable_sort(order + begin, order + end,
                     [&](index_t a, index_t b) { return coo.column[a] < coo.column[b]; });
    for (index_t k = begin; k < end; ++k) {
      const Ordinal column = coo.column[order[k]];
      const bool again = k > begin && coo.column[order[k - 1]] == column;
      if (again && duplicates == Duplicates::Error)
        fail_matrix(coo.label, MatrixFault::Duplicate, i, order[k], column, column);
      if (!again) entries[written++] = column;
      place[k] = written - 1;
    }
    row_map[i + 1] = static_cast<Offset>(written);
    begin = end;
  }
  return written;
}

template void check_crs_arrays(const CrsArrays<std::int32_t, std::int32_t>&);
template void check_crs_arrays(const CrsArrays<std::int32_t, std::int64_t>&);
template void check_crs_arrays(const CrsArrays<std::int64_t, std::int32_t>&);
template void check_crs_arrays(const CrsArrays<std::int64_t, std::int64_t>&);
template index_t order_coo(const CooArrays<std::int32_t>&, Duplicates, std::int32_t*, std::int32_t*, index_t*,
                           index_t*);
template index_t order_coo(const CooArrays<std::int32_t>&, Duplicates, std::int64_t*, std::int32_t*, index_t*,
                           index_t*);
template index_t order_coo(const CooArrays<std::int64_t>&, Duplicates, std::int32_t*, std::int64_t*, index_t*,
                           index_t*);
template index_t order_coo(const CooArrays<std::int64_t>&, Duplicates, std::int64_t*, std::int64_t*, index_t*,
                           index_t*);

}  // namespace strata::inline STRATA_ABI::detail
