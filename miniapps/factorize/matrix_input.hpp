// MatrixInput: where the elements of a matrix come from: a formula, a file, another mini-app. It gives
// any part of a row, again and again, so that a matrix that a factorization has replaced can be compared with
// its factors without a copy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/factorize/request.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// A matrix cannot be read, or is not what an operation needs; the message has file, line and what to do.
class InputError : public miniapp::UsageError {
 public:
  using UsageError::UsageError;
};

/// See the head of the file. May be read by several threads at a time.
class MatrixInput {
 public:
  virtual ~MatrixInput() = default;

  /// Rows; and columns, but for those of make_random.
  index_t order() const { return order_; }
  index_t columns() const { return columns_ > 0 ? columns_ : order_; }
  /// For people: "spd, seed 1".
  const std::string& text() const { return text_; }

  /// The elements [first, first + count) of a row.
  virtual void read(index_t row, index_t first, index_t count, double* values) const = 0;
  /// InputError where it is known not to be symmetric. Where nobody can say without reading twice, the lower
  /// triangle counts.
  virtual void require_symmetric() const {}

 protected:
  MatrixInput(index_t order, std::string text) : MatrixInput(order, 0, std::move(text)) {}
  MatrixInput(index_t rows, index_t columns, std::string text)
      : order_(rows), columns_(columns), text_(std::move(text)) {}

  index_t order_;    // files set it when they have been read
  index_t columns_;  // 0: a square matrix
  std::string text_;
};

/// The matrix of a request. InputError.
std::unique_ptr<MatrixInput> make_input(const FactorizeRequest& request);

// The kinds.

/// With u(i, j) in [-1, 1), by a hash of `seed`, i and j (generated_matrix.cpp), all multiples of 2^-23:
///   spd     a(i, j) = u(max(i, j), min(i, j)), and 1 + ceil(2 sqrt(n)) on the diagonal: the eigenvalues of
///           the rest are about 1.16 sqrt(n) at most, so that it is positive definite, of condition near 4;
///   random  a(i, j) = u(i, j), with no order in it: LU needs its pivots.
///
/// A triangle of spd is d (I + N) with d on the diagonal, and as good to solve with: N has numbers of
/// standard deviation 1 / (2 sqrt(3 n)) on one side of the diagonal, for which |N| tends to sqrt(e / 12) =
/// 0.48, so that the condition is near 1.48 / 0.52, less than 3.
std::unique_ptr<MatrixInput> make_generated(bool is_spd, index_t order, index_t seed);
/// spd over the least power of two that is not below its diagonal, which leaves all elements exact: for a
/// triangle whose diagonal counts as ones. Beside ones, elements of spd itself would make it of a condition
/// that grows exponentially with the order.
std::unique_ptr<MatrixInput> make_scaled_spd(index_t order, index_t seed);
/// "random", of any shape.
std::unique_ptr<MatrixInput> make_random(index_t rows, index_t columns, index_t seed);
/// A file of MatrixMarket: array or coordinate, real or integer, general or symmetric.
std::unique_ptr<MatrixInput> make_matrix_market(const std::string& path);
/// Whether it is to be read as one: by its ending, .mtx, or its first bytes.
bool is_matrix_market(const std::string& path);
/// Numbers of the machine's own format, row by row, and nothing else: the order is that of the file's size.
std::unique_ptr<MatrixInput> make_raw(const std::string& path, bool is_double);
/// The stiffness matrix of strata-thermal on a mesh, of conductivity 1, with the temperatures given where z
/// is least and greatest: symmetric positive definite.
std::unique_ptr<MatrixInput> make_thermal(const std::string& mesh);

}  // namespace strata::inline STRATA_ABI::factorize
