// Faults of sparse matrices, and the checks and orderings of their arrays in host memory: pure functions of
// arrays, without a device, compiled once for each pair of index types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// The faults of a matrix.
enum class MatrixFault {
  RowMap,      ///< the offsets do not begin with 0, descend, or do not end with the number of entries
  OutOfRange,  ///< a row or column index is not within the matrix
  Unsorted,    ///< the columns of a row do not ascend
  Duplicate,   ///< a column is there twice in a row
};

/// The arrays given are not a sparse matrix; the message names the matrix, the row and the numbers.
class MatrixError : public Error {
 public:
  /// Of a fault found in `row`.
  MatrixError(MatrixFault fault, index_t row, const std::string& message)
      : Error(message), fault_(fault), row_(row) {}
  /// The fault.
  MatrixFault fault() const { return fault_; }
  /// The first row where it was found.
  index_t row() const { return row_; }

 private:
  MatrixFault fault_;
  index_t row_;
};

/// What to do with several coefficients at one place.
enum class Duplicates {
  Sum,    ///< they are added, in the order given
  Error,  ///< MatrixError
};

}  // namespace linear

namespace detail {

using linear::Duplicates;
using linear::MatrixFault;

/// A fault of row `row`: at entry `entry` (of COO input: its position), where the numbers `found` and `other`
/// contradict each other.
[[noreturn]] void fail_matrix(const char* label, MatrixFault fault, index_t row, index_t entry, index_t found,
                              index_t other);
/// ExtentError: the number of columns or entries does not fit its integer type of `bits` bits.
[[noreturn]] void fail_matrix_indices(const char* label, const char* what, index_t count, int bits);

/// The array of a matrix in the memory of the host.
template <class Ordinal, class Offset>
struct CrsArrays {
  const char* label;
  index_t rows;
  index_t columns;
  const Offset* row_map;  // rows + 1
  const Ordinal* entries;
  index_t entry_count;
};
/// Throws MatrixError unless this is a matrix.
template <class Ordinal, class Offset>
void check_crs_arrays(const CrsArrays<Ordinal, Offset>& arrays);

/// Triplets in any order.
template <class Ordinal>
struct CooArrays {
  const char* label;
  index_t rows;
  index_t columns;
  const Ordinal* row;
  const Ordinal* column;
  index_t count;
};
/// Puts triplets into rows of ascending columns; those of one place stay in the order given. Writes
/// row_map[rows + 1], entries[<= count], order[count], the triplets in their new order, and place[count], the
/// entry each of them goes to. Returns the number of entries. Throws MatrixError.
template <class Ordinal, class Offset>
index_t order_coo(const CooArrays<Ordinal>& coo, Duplicates duplicates, Offset* row_map, Ordinal* entries,
                  index_t* order, index_t* place);

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
