// The tasks of LU factors over tiles, and of what uses these factors; tiled_lu.hpp runs them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <strata/algorithms/linear/tiled/tile_lu_operations.hpp>
#include <strata/algorithms/linear/tiled/tiled_options.hpp>

namespace strata::inline STRATA_ABI::detail {

// Work arrays, of which a step writes the part that it needs. Checked builds, which find what is declared out
// and left out, have zeros there instead, which are kept.
template <class Array, class... Extents>
Array lu_work_array(const std::string& label, Extents... extents) {
  if constexpr (checked_build) return Array(label.c_str(), extents..., MemoryMode::Smart);
  else return Array(label.c_str(), extents..., uninitialized, MemoryMode::Smart);
}
template <class Array>
auto lu_written(const Array& array) {
  if constexpr (checked_build) return inout(array);
  else return out(array);
}
template <class Array>
void lu_discard(TaskGraph& graph, const Array& array) {
  if constexpr (!checked_build) graph.discard(array);
}

/// Adds tasks of LU factors and of what uses them to a graph.
template <class T>
class LuTasks {
 public:
  using Tile = typename TiledMatrix<T>::tile_type;
  using Integers = CoherentArray<int, rank<1>>;

  LuTasks(TaskGraph& graph, const TileBackend& by) : graph_(graph), by_(by) {}

  /// The swaps of step k in a column of tiles; `back`: undone. The first task of them.
  TaskHandle swap(const Integers& step, index_t k, const TiledMatrix<T>& b, index_t j, bool back) {
    before_.resize(static_cast<std::size_t>(b.tile_columns()));
    Tile& before = before_[static_cast<std::size_t>(j)];
    if (!before)
      before = lu_work_array<Tile>("rows of " + std::string(b.tile(0, j).label()), b.tile(0, j).extent(0),
                                   b.tile(0, j).extent(1));
    const LuStep size{b.tile(k, j).extent(0)};
    const TaskHandle first =
        graph_.call("swap top", TileSwapTop{size, back}, in(step), inout(b.tile(k, j)), lu_written(before));
    first.work(1);
    for (index_t i = k + 1; i < b.tile_rows(); ++i)
      graph_
          .call("swap rows", TileSwapRows<T>{size, back, (i - k) * b.tile_order()}, in(step), in(before),
                inout(b.tile(k, j)), inout(b.tile(i, j)))
          .work(1);
    lu_discard(graph_, before);
    return first;
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
    const Tile made(label.c_str(), of.extent(0), of.extent(1), uninitialized, MemoryMode::Smart);
    const double n = static_cast<double>(of.extent(0));
    graph_.call("trtri", TileInverse<T>{by_, upper, unit}, in(of), out(made)).work(n * n * n);
    return made;
  }

 private:
  TaskGraph& graph_;
  const TileBackend by_;
  std::vector<Tile> before_;  // of columns of tiles
};

/// Columns of tiles that are worked on at a time. Each step of a factor goes through all columns right of it,
/// so where these do not fit a memory they would pass through it once a step. In groups of columns, which go
/// through all steps that they need before the next group does, what passes once a group is L.
struct LuOpenColumns {
  index_t group = std::numeric_limits<index_t>::max();  ///< columns
  index_t ahead = 0;  ///< of the group before, whose factors may be under way when a group begins
};
/// As many as there is room for in the memories of the parts; hosts count where they have a budget.
LuOpenColumns lu_open_columns(const std::vector<TaskPart>& parts, index_t bytes_of_host, const TiledShape& a,
                              index_t element_bytes);

/// The factors' graph, and what it leaves besides them.
template <class T>
class LuGraph {
 public:
  using Tile = typename TiledMatrix<T>::tile_type;
  using Integers = CoherentArray<int, rank<1>>;

  LuGraph(const TiledMatrix<T>& a, const TileBackend& by, bool inverts, bool pivots, double limit,
          const LuOpenColumns& open)
      : graph_("linear::lu of " + a.label()),
        a_(a),
        tasks_(graph_, by),
        by_(by),
        inverts_(inverts),
        pivots_(pivots),
        limit_(limit),
        open_(open) {
    if (a.tile_rows() == 0) return;
    const index_t b = a.tile(0, 0).extent(0), n = a.rows();
    panel_ = lu_work_array<Tile>("panel of " + a.label(), b, pivots ? n : b);
    if (pivots) content_ = lu_work_array<Integers>("rows of " + a.label(), n);
    const index_t group = std::min(open.group, a.tile_columns());
    for (index_t first = 0; first < a.tile_rows(); first += group) add_columns(first, group);
  }
  TaskGraph& graph() { return graph_; }
  const std::vector<Integers>& steps() const { return steps_; }
  /// Marks of the columns of L below diagonal tiles, for each.
  const std::vector<std::vector<Integers>>& marks() const { return marks_; }

 private:
  double order(index_t k) const { return static_cast<double>(a_.tile(k, k).extent(0)); }
  Integers integers(const char* name, const Tile& of, index_t count) const {
    return Integers((name + std::string(of.label())).c_str(), count, MemoryMode::Smart);
  }

  // The factors of columns of tiles, when all before them are there.
  void add_columns(index_t first, index_t count) {
    const index_t end = std::min(first + count, a_.tile_rows());
    for (index_t k = 0; k < end; ++k) {
      if (k >= first) add_factor(k);
      update(k, std::max(first, k + 1), end);
      if (inverts_ && end == a_.tile_rows() && k + 1 < end)
        graph_.discard(inverses_[static_cast<std::size_t>(k)]);
    }
  }
  // The columns of L of a diagonal tile, and its row of U.
  void add_factor(index_t k) {
    const Tile& diagonal = a_.tile(k, k);
    const index_t tiles = a_.tile_rows();
    steps_.push_back(integers("pivots of ", diagonal, LuStep{diagonal.extent(0)}.size()));
    marks_.emplace_back();
    if (pivots_) factor_panel(k);
    else factor_diagonal(k);
    if (inverts_ && k + 1 < tiles) inverses_.push_back(tasks_.inverse(diagonal, false, true));
    if (pivots_) return;
    const Tile upper = inverts_ && k + 1 < tiles ? tasks_.inverse(diagonal, true, false) : Tile();
    for (index_t i = k + 1; i < tiles; ++i) factor_below(i, k, upper);
    if (upper) graph_.discard(upper);
  }
  // What step k does in columns of tiles right of it.
  void update(index_t k, index_t first, index_t end) {
    const index_t tiles = a_.tile_rows();
    if (pivots_)
      for (index_t j = first; j < end; ++j) {
        const TaskHandle swap = tasks_.swap(steps_[static_cast<std::size_t>(k)], k, a_, j, false);
        if (k == 0 && first >= open_.group)
          swap.after(factored_[static_cast<std::size_t>(first - open_.ahead - 1)]);
      }
    for (index_t j = first; j < end; ++j)
      tasks_.solve("trsm", inverts_ ? inverses_[static_cast<std::size_t>(k)] : a_.tile(k, k), inverts_,
                   {false, false, false, true}, a_.tile(k, j));
    for (index_t j = first; j < end; ++j)
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
      (i == k ? graph_.call("gather", gather, in(a_.tile(i, k)), lu_written(panel_))
              : graph_.call("gather", gather, in(a_.tile(i, k)), inout(panel_)))
          .work(1);
    }
    const PanelGetrf<T> getrf{by_, {n}, rows, true, limit_};
    factored_.push_back(graph_
                            .call("getrf", PanelGetrfWithSwaps<T>{getrf}, inout(panel_), lu_written(content_),
                                  lu_written(steps_.back()))
                            .work(columns * columns * (static_cast<double>(rows) - columns / 3)));
    for (index_t i = k; i < a_.tile_rows(); ++i)
      graph_.call("scatter", TileScatter{row(i)}, in(panel_), out(a_.tile(i, k))).work(1);
    lu_discard(graph_, panel_);
    lu_discard(graph_, content_);
  }
  void factor_diagonal(index_t k) {
    const index_t n = a_.tile(k, k).extent(0);
    const PanelGetrf<T> getrf{by_, {n}, n, false, limit_};
    graph_
        .call("getrf", TileGetrf<T>{getrf}, inout(a_.tile(k, k)), lu_written(panel_),
              lu_written(steps_.back()))
        .work(2 * order(k) * order(k) * order(k) / 3);
    lu_discard(graph_, panel_);
  }
  void factor_below(index_t i, index_t k, const Tile& upper) {
    const Tile& tile = a_.tile(i, k);
    const TileTriangle triangle{true, false, true, false};
    marks_.back().push_back(integers("marks of ", tile, tile.extent(1)));
    const Integers& marks = marks_.back().back();
    const double work = order(k) * static_cast<double>(tile.size());
    using Times = TileFactorBelow<T, TileTimes<T>>;
    using Trsm = TileFactorBelow<T, TileTrsm<T>>;
    (inverts_ ? graph_.call("trsm", Times{{by_, triangle}, limit_}, in(upper), inout(tile), lu_written(marks))
              : graph_.call("trsm", Trsm{{by_, triangle}, limit_}, in(a_.tile(k, k)), inout(tile),
                            lu_written(marks)))
        .work(work);
  }

  TaskGraph graph_;
  const TiledMatrix<T> a_;
  LuTasks<T> tasks_;
  const TileBackend by_;
  const bool inverts_, pivots_;
  const double limit_;
  const LuOpenColumns open_;
  Tile panel_;
  Integers content_;
  std::vector<Tile> inverses_;  // of L in diagonal tiles
  std::vector<TaskHandle> factored_;
  std::vector<Integers> steps_;
  std::vector<std::vector<Integers>> marks_;
};

}  // namespace strata::inline STRATA_ABI::detail
