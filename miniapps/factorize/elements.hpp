// What the host does with the elements of matrices: fills tiles from an input, and multiplies inputs and
// tiles with vectors, for residuals. On all threads; the same sums in the same order whatever their number.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_matrix.hpp>
#include <strata/miniapps/factorize/matrix_input.hpp>

namespace strata::inline STRATA_ABI::factorize {

/// Columns of vectors of doubles: element (i, c).
struct Vectors {
  index_t rows, columns;
  std::vector<double> values;

  Vectors(index_t m, index_t n) : rows(m), columns(n), values(static_cast<std::size_t>(m * n)) {}
  double& operator()(index_t i, index_t c) { return values[static_cast<std::size_t>(i * columns + c)]; }
  double operator()(index_t i, index_t c) const { return values[static_cast<std::size_t>(i * columns + c)]; }
};
/// In [-1, 1), by `seed`.
Vectors random_vectors(index_t rows, index_t columns, index_t seed);
/// The root of the sum of squares of a column.
double norm_of(const Vectors& v, index_t column);
/// a - b
Vectors difference(const Vectors& a, const Vectors& b);

/// Which elements of an input count, the others being 0.
enum class InputPart : unsigned char {
  All,
  Symmetric,  ///< those on and below the diagonal, and their mirror images
  Lower,      ///< those on and below the diagonal
  Upper,      ///< those on and above the diagonal
  UnitLower,  ///< those below the diagonal, which is all ones
  UnitUpper   ///< those above it, likewise
};

/// The tiles become the input, as large as they are, of which symmetric ones get the lower triangle; done(k)
/// after each tile. InputError names an element that is not finite, or too large for the type.
template <class T>
void fill(const TiledMatrix<T>& a, const MatrixInput& input, const std::function<void(index_t)>& done);

/// A v or A^T v, with the elements as T has them, and, unless it is null, the root of the sum of squares of
/// all elements, of mirror images and ones, too.
template <class T>
Vectors multiply(const MatrixInput& input, InputPart part, bool transpose, const Vectors& v, double* norm);

/// Which elements of tiles count.
enum class TilePart : unsigned char {
  All,
  AllTransposed,
  Lower,  ///< on and below the diagonal, the others being 0
  LowerTransposed,
  Symmetric  ///< on and below the diagonal, and their mirror images
};
template <class T>
Vectors multiply(const TiledMatrix<T>& a, TilePart part, const Vectors& v);

/// A tiled column of vectors, and back.
template <class T>
void set(const TiledMatrix<T>& to, const Vectors& from);
template <class T>
Vectors values_of(const TiledMatrix<T>& from);

}  // namespace strata::inline STRATA_ABI::factorize
