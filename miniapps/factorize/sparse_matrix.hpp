// SparseMatrix: a MatrixInput of entries; all other elements are 0. Its memory is in proportion to the
// entries, whatever the order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/miniapps/factorize/matrix_input.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// An element that was given, and the line of the file that has it; 0: none has.
struct SparseEntry {
  index_t row, column;
  double value;
  index_t line;
};

class SparseMatrix final : public MatrixInput {
 public:
  /// Of a symmetric one, `entries` are those on and below the diagonal. InputError where one is there twice;
  /// `name` is that of the file.
  SparseMatrix(index_t order, std::string text, std::string name, bool is_symmetric,
               std::vector<SparseEntry> entries);

  void read(index_t row, index_t first, index_t count, double* values) const override;
  void require_symmetric() const override;

 private:
  std::vector<SparseEntry>::const_iterator find(index_t row, index_t column) const;

  std::string name_;
  bool is_symmetric_;
  std::vector<SparseEntry> entries_;  // by row, then column; both triangles
};

}  // namespace strata::inline STRATA_ABI::factorize
