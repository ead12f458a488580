// LU factors of matrices larger than a device, and systems solved by them, as graphs of tasks:
//
//   TiledMatrix<double> a("a", n, n, 2048, main_in(CudaPinned{}));
//   coherent::set_budget(Cuda{}, index_t{4} << 30);
//   const auto factors = linear::lu(a, on(Cuda{}));   // P A = L U; L and U take the place of A
//   linear::solve(factors, b, on(Cuda{}));            // A X = B; X takes the place of B
//
// With pivots the rows of a column of tiles, from the diagonal on, are factored at once, in a panel: a budget
// holds at least the panel of the first column, which is as large as that column, and a tile. Without pivots
// three tiles are enough. Errors besides those named below: those of TaskGraph::run.
#pragma once

#include <algorithm>
#include <vector>

#include <strata/algorithms/linear/tiled/tile_lu_operations.hpp>
#include <strata/algorithms/linear/tiled/tiled_options.hpp>

namespace strata::inline STRATA_ABI {

namespace linear {

/// Which row a column of a factor is divided by. None: that of the diagonal, for matrices that are known to
/// allow it, such as those whose diagonal outweighs the rest of each column. Partial: that with the largest
/// element of the column, of all tiles.
enum class Pivoting { None, Partial };

/// How lu() runs.
struct LuOptions : TiledOptions {
  Pivoting pivoting = Pivoting::Partial;
  /// Without pivots: one that is smaller than this times an element below it is refused. The largest element
  /// of L is then at most 1 / least_pivot, and so the loss of digits. 0: the root of the type's epsilon, by
  /// which at most half of them are lost.
  double least_pivot = 0;
};

/// A matrix has no LU factors: the pivot of a column is 0 or not finite, or without pivoting too small.
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
  Pivoting pivoting;
  std::vector<index_t> pivots;  ///< row k was swapped with row pivots[k] >= k, for k from 0 on
  TaskReport report;            ///< of the run

  /// What solve() needs of each column of tiles, where there are pivots.
  std::vector<CoherentArray<int, rank<1>>> steps;
};

}  // namespace linear

namespace detail {

/// Adds tasks of LU factors and of what uses them to a graph.
template <class T>
class LuTasks {
 public:
  using Tile = typename TiledMatrix<T>::tile_type;
  using Integers = CoherentArray<int, rank<1>>;

  LuTasks(TaskGraph& graph, const TileBackend& by) : graph_(graph), by_(by) {}

  /// The swaps of step k in the columns of tiles from `first` on; `back`: undone.
  void swap(const Integers& step, index_t k, const TiledMatrix<T>& b, index_t first, bool back) {
    before_.resize(static_cast<std::size_t>(b.tile_columns()));
    for (index_t j = first; j < b.tile_columns(); ++j) {
      Tile& before = before_[static_cast<std::size_t>(j)];
      if (!before)
        before = Tile(("rows of " + b.label()).c_str(), b.tile(0, j).extent(0), b.tile(0, j).extent(1),
                      uninitialized);
      const LuStep size{b.tile(k, j).extent(0)};
      graph_.call("swap top", TileSwapTop{size, back}, in(step), inout(b.tile(k, j)), out(before)).work(1);
      for (index_t i = k + 1; i < b.tile_rows(); ++i)
        graph_
            .call("swap rows", TileSwapRows<T>{size, back, (i - k) * b.tile_order()}, in(step), in(before),
                  inout(b.tile(k, j)), inout(b.tile(i, j)))
            .work(1);
      graph_.discard(before);
    }
  }
  /// op(t)^-1 b, where an inverse was made of t by multiplying with it.
  void solve(const char* label, const Tile& t, bool is_inverse, const TileTriangle& triangle, const Tile& b) {
    const double n = static_cast<double>(t.extent(0)), work = n * static_cast<double>(b.size());
    (is_inverse ? graph_.call(label, TileTimes<T>{by_, triangle}, in(t), inout(b))
                : graph_.call(label, TileTrsm<T>{by_, triangle}, in(t), inout(b)))
        .work(work);
  }
  void subtract(const char* label, const Tile& a, const Tile& b, const Tile& c, T factor = -1) {
    graph_.call(label, TileGemm<T>{by_, factor, 1}, in(a), in(b), inout(c))
        .work(2 * static_cast<double>(c.size()) * static_cast<double>(a.extent(1)));
  }
  Tile inverse(const Tile& of, bool upper, bool unit) {
    const std::string label = std::string(upper ? "inverse of U in " : "inverse of L in ") + of.label();
    const Tile made(label.c_str(), of.extent(0), of.extent(1), uninitialized);
    const double n = static_cast<double>(of.extent(0));
    graph_.call("trtri", TileInverse<T>{by_, upper, unit}, in(of), out(made)).work(n * n * n);
    return made;
  }

 private:
  TaskGraph& graph_;
  const TileBackend by_;
  std::vector<Tile> before_;  // of columns of tiles
};

/// The factors' graph, and what it leaves besides them.
template <class T>
class LuGraph {
 public:
  using Tile = typename TiledMatrix<T>::tile_type;
  using Integers = CoherentArray<int, rank<1>>;

  LuGraph(const TiledMatrix<T>& a, const TileBackend& by, bool inverts, bool pivots, double limit)
      : graph_("linear::lu of " + a.label()),
        a_(a),
        tasks_(graph_, by),
        by_(by),
        inverts_(inverts),
        pivots_(pivots),
        limit_(limit) {
    if (a.tile_rows() == 0) return;
    const index_t b = a.tile(0, 0).extent(0), n = a.rows();
    panel_ = Tile(("panel of " + a.label()).c_str(), b, pivots ? n : b, uninitialized);
    if (pivots) content_ = Integers(("rows of " + a.label()).c_str(), n, uninitialized);
    for (index_t k = 0; k < a.tile_rows(); ++k) add_step(k);
  }
  TaskGraph& graph() { return graph_; }
  const std::vector<Integers>& steps() const { return steps_; }
  /// Marks of the columns of L below diagonal tiles, for each.
  const std::vector<std::vector<Integers>>& marks() const { return marks_; }

 private:
  double order(index_t k) const { return static_cast<double>(a_.tile(k, k).extent(0)); }
  Integers integers(const char* name, const Tile& of, index_t count) const {
    return Integers((name + std::string(of.label())).c_str(), count);
  }

  void add_step(index_t k) {
    const Tile& diagonal = a_.tile(k, k);
    const index_t n = diagonal.extent(0), tiles = a_.tile_rows();
    steps_.push_back(integers("pivots of ", diagonal, LuStep{n}.size()));
    marks_.emplace_back();
    if (pivots_) factor_panel(k);
    else factor_diagonal(k);
    if (k + 1 == tiles) return;

    Tile lower, upper;
    if (inverts_) {
      lower = tasks_.inverse(diagonal, false, true);
      if (!pivots_) upper = tasks_.inverse(diagonal, true, false);
    }
    if (pivots_) tasks_.swap(steps_.back(), k, a_, k + 1, false);
    else
      for (index_t i = k + 1; i < tiles; ++i) factor_below(i, k, upper);
    for (index_t j = k + 1; j < tiles; ++j)
      tasks_.solve("trsm", inverts_ ? lower : diagonal, inverts_, {false, false, false, true}, a_.tile(k, j));
    if (inverts_) graph_.discard(lower);
    if (upper) graph_.discard(upper);
    for (index_t j = k + 1; j < tiles; ++j)
      for (index_t i = k + 1; i < tiles; ++i)
        tasks_.subtract("gemm", a_.tile(i, k), a_.tile(k, j), a_.tile(i, j));
  }
  // All rows from the diagonal on at once.
  void factor_panel(index_t k) {
    const index_t n = a_.tile(k, k).extent(0), rows = a_.rows() - k * a_.tile_order();
    const double columns = static_cast<double>(n);
    const auto row = [&](index_t i) { return (i - k) * a_.tile_order(); };
    for (index_t i = k; i < a_.tile_rows(); ++i) {
      const TileGather gather{row(i)};
      (i == k ? graph_.call("gather", gather, in(a_.tile(i, k)), out(panel_))
              : graph_.call("gather", gather, in(a_.tile(i, k)), inout(panel_)))
          .work(1);
    }
    const PanelGetrf<T> getrf{by_, {n}, rows, true, limit_};
    graph_
        .call("getrf", PanelGetrfWithSwaps<T>{getrf}, inout(panel_), out(content_), out(steps_.back()))
        .work(columns * columns * (static_cast<double>(rows) - columns / 3));
    for (index_t i = k; i < a_.tile_rows(); ++i)
      graph_.call("scatter", TileScatter{row(i)}, in(panel_), out(a_.tile(i, k))).work(1);
    graph_.discard(panel_);
    graph_.discard(content_);
  }
  void factor_diagonal(index_t k) {
    const index_t n = a_.tile(k, k).extent(0);
    const PanelGetrf<T> getrf{by_, {n}, n, false, limit_};
    graph_.call("getrf", TileGetrf<T>{getrf}, inout(a_.tile(k, k)), out(panel_), out(steps_.back()))
        .work(2 * order(k) * order(k) * order(k) / 3);
    graph_.discard(panel_);
  }
  void factor_below(index_t i, index_t k, const Tile& upper) {
    const Tile& tile = a_.tile(i, k);
    const TileTriangle triangle{true, false, true, false};
    marks_.back().push_back(integers("marks of ", tile, tile.extent(1)));
    const Integers& marks = marks_.back().back();
    const double work = order(k) * static_cast<double>(tile.size());
    using Times = TileFactorBelow<T, TileTimes<T>>;
    using Trsm = TileFactorBelow<T, TileTrsm<T>>;
    (inverts_ ? graph_.call("trsm", Times{{by_, triangle}, limit_}, in(upper), inout(tile), out(marks))
              : graph_.call("trsm", Trsm{{by_, triangle}, limit_}, in(a_.tile(k, k)), inout(tile), out(marks)))
        .work(work);
  }

  TaskGraph graph_;
  const TiledMatrix<T> a_;
  LuTasks<T> tasks_;
  const TileBackend by_;
  const bool inverts_, pivots_;
  const double limit_;
  Tile panel_;
  Integers content_;
  std::vector<Integers> steps_;
  std::vector<std::vector<Integers>> marks_;
};

/// The pivots by the integers that steps left; throws SingularMatrix for `a`, whose pivots are at least
/// `least` times what is below them.
std::vector<index_t> lu_pivots(const TiledShape& a, linear::Pivoting pivoting, double least,
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
  d::LuGraph<T> graph(a, {options.backend, options.tf32},
                      options.invert_diagonal.value_or(d::has_gpu(where)), pivots, pivots ? 2 : 1 / least);

  LuFactors<T> factors{a, options.pivoting, {}, graph.graph().run(where, options.run), {}};
  factors.pivots = d::lu_pivots(d::tiled_shape(a), options.pivoting, least, graph.steps(), graph.marks());
  if (pivots) factors.steps = graph.steps();
  return factors;
}

/// X with A X = B takes the place of B, for the factors of A. Throws ShapeMismatch where `b` has other rows or
/// tiles, or is symmetric.
template <class T, Place Where>
TaskReport solve(const LuFactors<T>& factors, const TiledMatrix<T>& b, const Where& where,
                 const TiledOptions& options = {}) {
  namespace d = strata::detail;
  d::check_lu_use("linear::solve", factors, b, where, options);
  const TiledMatrix<T>& a = factors.matrix;
  const index_t tiles = a.tile_rows();

  TaskGraph graph("linear::solve with " + a.label());
  d::LuTasks<T> tasks(graph, {options.backend, options.tf32});
  for (index_t k = 0; k < tiles; ++k) {
    if (factors.pivoting == Pivoting::Partial)
      tasks.swap(factors.steps[static_cast<std::size_t>(k)], k, b, 0, false);
    for (index_t j = 0; j < b.tile_columns(); ++j) {
      tasks.solve("solve trsm", a.tile(k, k), false, {false, false, false, true}, b.tile(k, j));
      for (index_t i = k + 1; i < tiles; ++i)
        tasks.subtract("solve gemm", a.tile(i, k), b.tile(k, j), b.tile(i, j));
    }
  }
  for (index_t k = tiles - 1; k >= 0; --k)
    for (index_t j = 0; j < b.tile_columns(); ++j) {
      tasks.solve("solve trsm", a.tile(k, k), false, {false, false, true, false}, b.tile(k, j));
      for (index_t i = 0; i < k; ++i)
        tasks.subtract("solve gemm", a.tile(i, k), b.tile(k, j), b.tile(i, j));
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
    if (factors.pivoting == Pivoting::Partial)
      tasks.swap(factors.steps[static_cast<std::size_t>(k)], k, x, 0, true);
  }
  return graph.run(where, options.run);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
