// Systems whose matrix is triangular, larger than a device, as graphs of tasks; see tiled_cholesky.hpp for
// how they run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_options.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// Where the triangular matrix of a system stands: op(A) X = B or X op(A) = B.
enum class Side { Left, Right };
/// Which of its elements count; the others are not read, in tiles off the diagonal and on it.
enum class Triangle { Lower, Upper };

/// A system with a triangular matrix, as BLAS has it.
struct TriangularSystem {
  Side side = Side::Left;               ///< of the matrix
  Triangle triangle = Triangle::Lower;  ///< of the matrix as it is stored
  bool transpose = false;               ///< op(A) = A^T, else A
  bool unit_diagonal = false;           ///< the diagonal counts as ones and is not read
};

}  // namespace linear

namespace detail {

/// Throws ShapeMismatch where `a` has not the tiles of the system, and where `b` does not fit it.
void check_trsm(const linear::TriangularSystem& system, const TiledShape& a, const TiledShape& b);

/// The labels of tasks, by which their costs are known.
struct TrsmLabels {
  const char *trsm, *gemm;
};

/// Adds the tasks that put X in the place of B. `inverts`: each diagonal tile is inverted once and multiplied
/// by, in place of solving with it.
template <class T>
void add_trsm(TaskGraph& graph, const TileBackend& by, const linear::TriangularSystem& system,
              const TiledMatrix<T>& a, const TiledMatrix<T>& b, bool inverts, const TrsmLabels& labels) {
  using Tile = typename TiledMatrix<T>::tile_type;
  const bool right = system.side == linear::Side::Right, transpose = system.transpose;
  const bool upper = system.triangle == linear::Triangle::Upper, unit = system.unit_diagonal;
  // Column k of tiles of X follows from those before it: from the first one on, where op(A) is a lower
  // triangle on the left or an upper one on the right.
  const bool forward = right != (upper == transpose);
  const index_t tiles = a.tile_rows(), others = right ? b.tile_rows() : b.tile_columns();
  const auto of_b = [&](index_t k, index_t j) -> const Tile& { return right ? b.tile(j, k) : b.tile(k, j); };
  // Of op(A) at (i, k), from the right at (k, i).
  const auto of_a = [&](index_t i, index_t k) -> const Tile& {
    return transpose != right ? a.tile(k, i) : a.tile(i, k);
  };
  const TileTriangle triangle{right, transpose, upper, unit};
  for (index_t step = 0; step < tiles && others > 0; ++step) {
    const index_t k = forward ? step : tiles - 1 - step;
    const Tile& diagonal = a.tile(k, k);
    const double order = static_cast<double>(diagonal.extent(0));
    Tile inverse;
    if (inverts) {
      inverse = Tile(("inverse of " + std::string(diagonal.label())).c_str(), diagonal.extent(0),
                     diagonal.extent(0), uninitialized, MemoryMode::Smart);
      graph.call("trtri", TileInverse<T>{by, upper, unit}, in(diagonal), out(inverse))
          .work(order * order * order);
    }
    for (index_t j = 0; j < others; ++j) {
      const Tile& x = of_b(k, j);
      (inverts ? graph.call(labels.trsm, TileTimes<T>{by, triangle}, in(inverse), inout(x))
               : graph.call(labels.trsm, TileTrsm<T>{by, triangle}, in(diagonal), inout(x)))
          .work(order * static_cast<double>(x.size()));
      for (index_t i = forward ? k + 1 : 0; i < (forward ? tiles : k); ++i) {
        const Tile &factor = of_a(i, k), &rest = of_b(i, j);
        const TileGemm<T> product{by, -1, 1, !right && transpose, right && transpose};
        (right ? graph.call(labels.gemm, product, in(x), in(factor), inout(rest))
               : graph.call(labels.gemm, product, in(factor), in(x), inout(rest)))
            .work(2 * order * static_cast<double>(rest.size()));
      }
    }
    if (inverts) graph.discard(inverse);
  }
}

}  // namespace detail

namespace linear {

/// X with op(A) X = alpha B, or X op(A) = alpha B, takes the place of B, for a square triangular A: a matrix
/// with all its tiles, or of the lower triangle one of TiledMatrix::symmetric, as cholesky() leaves it. Where
/// alpha is 0 X is 0, and A is not read. As in BLAS, zeros on the diagonal are not detected: X is then not
/// finite. options.invert_diagonal is off by default here, as nothing says how well conditioned diagonal
/// tiles are. Throws ShapeMismatch, AccessConflict where A is B.
template <class T, Place Where>
TaskReport trsm(const TriangularSystem& system, std::type_identity_t<T> alpha, const TiledMatrix<T>& a,
                const TiledMatrix<T>& b, const Where& where, const TiledOptions& options = {}) {
  namespace d = strata::detail;
  d::check_trsm(system, d::tiled_shape(a), d::tiled_shape(b));
  d::check_tiled_backend(where, options.backend);
  const bool has_tiles = a.rows() > 0 && b.rows() > 0 && b.columns() > 0;
  if (has_tiles && a.tile(0, 0).state() == b.tile(0, 0).state())
    throw AccessConflict("linear::trsm: \"" + a.label() +
                         "\" is given as the triangular matrix and as the right-hand sides, whose place the "
                         "solution takes: give a copy as one of them");

  TaskGraph graph("linear::trsm with " + a.label());
  for (index_t i = 0; alpha != T(1) && i < b.tile_rows(); ++i)
    for (index_t j = 0; j < b.tile_columns(); ++j) {
      const auto& tile = b.tile(i, j);
      (alpha == T(0) ? graph.call("scale", d::TileScale<T>{alpha}, out(tile))
                     : graph.call("scale", d::TileScale<T>{alpha}, inout(tile)))
          .work(static_cast<double>(tile.size()));
    }
  if (alpha != T(0))
    d::add_trsm(graph, {options.backend, options.tf32}, system, a, b, options.invert_diagonal.value_or(false),
                {"trsm", "gemm"});
  return graph.run(where, options.run);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
