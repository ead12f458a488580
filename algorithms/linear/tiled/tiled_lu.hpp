// LU factors of matrices larger than a device, and systems solved by them, as graphs of tasks:
//
//   TiledMatrix<double> a("a", n, n, 2048, MemoryMode::Pinned);
//   coherent::set_budget(Cuda{}, index_t{4} << 30);
//   const auto factors = linear::lu(a, on(Cuda{}));   // P A = L U; L and U take the place of A
//   linear::solve(factors, b, on(Cuda{}));            // A X = B; X takes the place of B
//
// With pivots the rows of a column of tiles, from the diagonal on, are factored at once, in a panel: a budget
// holds at least the panel of the first column, as large as that column with an integer a row, and a tile.
// Without pivots three tiles are enough. Errors besides those named below: those of TaskGraph::run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include <strata/algorithms/linear/tiled/tiled_lu_tasks.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// Which row a column of a factor is divided by. None: that of the diagonal, for matrices that are known to
/// allow it, such as those whose diagonal outweighs the rest of each column. Partial: that with the largest
/// element of the column, of all tiles.
enum class Pivoting { None, Partial };

/// How lu() runs.
struct LuOptions : TiledOptions {
  Pivoting pivoting = Pivoting::Partial;  ///< which row a column is divided by
  /// Without pivots: one that is smaller than this times an element below it is refused. The largest element
  /// of L is then at most 1 / least_pivot, and so the loss of digits. 0: the root of the type's epsilon, by
  /// which at most half of them are lost.
  double least_pivot = 0;
};

/// A matrix has no LU factors: the pivot of a column is 0 or not finite, or without pivoting too small. It is
/// the first such column; but where diagonal tiles are inverted, without pivoting, what is not finite below
/// the diagonal tile may be named by an earlier column of its tile.
class SingularMatrix : public Error {
 public:
  /// `column` of the matrix `label`, whose tiles are of order `tile`.
  SingularMatrix(const std::string& label, Pivoting pivoting, index_t column, index_t tile, double least);

  index_t column;  ///< of the pivot, the first one: LAPACK's info - 1
  index_t tile;    ///< the number of the diagonal tile that it is in
};

/// What lu() made.
template <class T>
struct LuFactors {
  /// U on and above the diagonal, below it L, whose diagonal is ones. With pivots each column of tiles of L
  /// has the order of rows that was found with it: later swaps are not made in it. product() multiplies.
  TiledMatrix<T> matrix;
  Pivoting pivoting;            ///< as lu() was asked
  std::vector<index_t> pivots;  ///< row k was swapped with row pivots[k] >= k, for k from 0 on
  TaskReport report;            ///< of the run

  /// What solve() needs of each column of tiles, where there are pivots.
  std::vector<CoherentArray<int, rank<1>>> steps;
};

}  // namespace linear

namespace detail {

/// The pivots by the integers that steps left; throws SingularMatrix for `a`, whose pivots are at least
/// `least` times what is below them. `inverts`: diagonal tiles.
std::vector<index_t> lu_pivots(const TiledShape& a, linear::Pivoting pivoting, bool inverts, double least,
                               const std::vector<CoherentArray<int, rank<1>>>& steps,
                               const std::vector<std::vector<CoherentArray<int, rank<1>>>>& marks);
/// The least ratio that `options` asks for; throws Error for one that is negative, above 1 or no number.
double least_pivot(const linear::LuOptions& options, double epsilon);

template <class T, Place Where>
void check_lu_use(const char* operation, const linear::LuFactors<T>& factors, const TiledMatrix<T>& b,
                  const Where& where, const linear::TiledOptions& options) {
  const TiledShape of_a = tiled_shape(factors.matrix), of_b = tiled_shape(b);
  check_tiled_general(operation, of_b);
  check_tiled_agree(operation, of_a, "columns", of_a.columns, of_b, "rows", of_b.rows);
  check_tiled_backend(where, options.backend);
}

}  // namespace detail

namespace linear {

/// L and U with P A = L U take the place of A, which is square and has all its tiles; see LuFactors. Throws
/// SingularMatrix, also for NaN and infinite elements: then values of `a` are lost; ShapeMismatch where it is
/// not square, or symmetric.
template <class T, Place Where>
LuFactors<T> lu(const TiledMatrix<T>& a, const Where& where, const LuOptions& options = {}) {
  namespace d = strata::detail;
  d::check_tiled_square("linear::lu", d::tiled_shape(a));
  d::check_tiled_general("linear::lu", d::tiled_shape(a));
  d::check_tiled_backend(where, options.backend);
  const double least = d::least_pivot(options, static_cast<double>(std::numeric_limits<T>::epsilon()));
  const bool pivots = options.pivoting == Pivoting::Partial;
  const d::LuOpenColumns open =
      pivots ? d::lu_open_columns(d::task_parts(where), options.run.host_memory, d::tiled_shape(a), sizeof(T))
             : d::LuOpenColumns{};
  const bool inverts = options.invert_diagonal.value_or(d::has_gpu(where));
  d::LuGraph<T> graph(a, {options.backend, options.tf32}, inverts, pivots, pivots ? 2 : 1 / least, open);

  LuFactors<T> factors{a, options.pivoting, {}, graph.graph().run(where, options.run), {}};
  factors.pivots =
      d::lu_pivots(d::tiled_shape(a), options.pivoting, inverts, least, graph.steps(), graph.marks());
  if (pivots) factors.steps = graph.steps();
  return factors;
}

/// X with A X = B takes the place of B, for the factors of A. Throws ShapeMismatch where `b` has other rows
/// or tiles, or is symmetric.
template <class T, Place Where>
TaskReport solve(const LuFactors<T>& factors, const TiledMatrix<T>& b, const Where& where,
                 const TiledOptions& options = {}) {
  namespace d = strata::detail;
  d::check_lu_use("linear::solve", factors, b, where, options);
  const TiledMatrix<T>& a = factors.matrix;
  const index_t tiles = a.tile_rows();
  const bool pivots = factors.pivoting == Pivoting::Partial;

  TaskGraph graph("linear::solve with " + a.label());
  d::LuTasks<T> tasks(graph, {options.backend, options.tf32});
  for (index_t k = 0; k < tiles; ++k) {
    for (index_t j = 0; pivots && j < b.tile_columns(); ++j)
      tasks.swap(factors.steps[static_cast<std::size_t>(k)], k, b, j, false);
    for (index_t j = 0; j < b.tile_columns(); ++j) {
      tasks.solve("solve trsm", a.tile(k, k), false, {false, false, false, true}, b.tile(k, j));
      for (index_t i = k + 1; i < tiles; ++i)
        tasks.subtract("solve gemm", a.tile(i, k), b.tile(k, j), b.tile(i, j));
    }
  }
  for (index_t k = tiles - 1; k >= 0; --k)
    for (index_t j = 0; j < b.tile_columns(); ++j) {
      tasks.solve("solve trsm", a.tile(k, k), false, {false, false, true, false}, b.tile(k, j));
      for (index_t i = 0; i < k; ++i) tasks.subtract("solve gemm", a.tile(i, k), b.tile(k, j), b.tile(i, j));
    }
  return graph.run(where, options.run);
}

/// X = A X, for the factors of A: to see how far they are from A. Throws as solve() does.
template <class T, Place Where>
TaskReport product(const LuFactors<T>& factors, const TiledMatrix<T>& x, const Where& where,
                   const TiledOptions& options = {}) {
  namespace d = strata::detail;
  d::check_lu_use("linear::product", factors, x, where, options);
  using tile_type = typename TiledMatrix<T>::tile_type;
  const TiledMatrix<T>& a = factors.matrix;
  const index_t tiles = a.tile_rows();
  const bool pivots = factors.pivoting == Pivoting::Partial;

  TaskGraph graph("linear::product with " + a.label());
  d::LuTasks<T> tasks(graph, {options.backend, options.tf32});
  const auto multiply = [&](index_t k, bool upper) {
    const auto& tile = a.tile(k, k);
    const tile_type half(("triangle of " + std::string(tile.label())).c_str(), tile.extent(0), tile.extent(1),
                         uninitialized);
    graph.call("triangle", d::TileTriangleCopy<T>{upper, !upper}, in(tile), out(half));
    for (index_t j = 0; j < x.tile_columns(); ++j)
      tasks.solve("times", half, true, {false, false, upper, !upper}, x.tile(k, j));
    graph.discard(half);
  };
  for (index_t i = 0; i < tiles; ++i) {
    multiply(i, true);
    for (index_t k = i + 1; k < tiles; ++k)
      for (index_t j = 0; j < x.tile_columns(); ++j)
        tasks.subtract("product gemm", a.tile(i, k), x.tile(k, j), x.tile(i, j), 1);
  }
  for (index_t k = tiles - 1; k >= 0; --k) {
    for (index_t i = k + 1; i < tiles; ++i)
      for (index_t j = 0; j < x.tile_columns(); ++j)
        tasks.subtract("product gemm", a.tile(i, k), x.tile(k, j), x.tile(i, j), 1);
    multiply(k, false);
    for (index_t j = 0; pivots && j < x.tile_columns(); ++j)
      tasks.swap(factors.steps[static_cast<std::size_t>(k)], k, x, j, true);
  }
  return graph.run(where, options.run);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
