// Cholesky factors of matrices larger than a device, and systems solved by them, as graphs of tasks:
//
//   auto a = TiledMatrix<double>::symmetric("a", n, 1920, MemoryMode::Pinned);
//   coherent::set_budget(Cuda{}, index_t{2} << 30);
//   linear::cholesky(a, on(Cuda{}));             // A = L L^T; L takes the place of A
//   linear::solve(a, b, on(Cuda{}));             // L L^T X = B; X takes the place of B
//
// A budget holds at least the three tiles of a task. Values stay where they are, and are the host's where it
// asks for them (TiledMatrix::read, tiles). Errors besides those named below: those of TaskGraph::run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/linear/tiled/tiled_trsm.hpp>

namespace strata::inline STRATA_ABI::linear {

/// The lower factor L of a symmetric positive definite matrix takes its place: A = L L^T; above the diagonal,
/// values are unspecified. `a` is square, with all tiles or the lower ones only. Throws NotPositiveDefinite,
/// also for NaN and Inf: then values of `a` are lost; ShapeMismatch where it is not square.
template <class T, Place Where>
TaskReport cholesky(const TiledMatrix<T>& a, const Where& where, const TiledOptions& options = {}) {
  namespace d = strata::detail;
  d::check_tiled_square("linear::cholesky", d::tiled_shape(a));
  d::check_tiled_backend(where, options.backend);
  const d::TileBackend by{options.backend, options.tf32};
  const bool inverts = options.invert_diagonal.value_or(d::has_gpu(where));
  using tile_type = typename TiledMatrix<T>::tile_type;
  const index_t tiles = a.tile_rows();
  const auto order = [&](index_t k) { return static_cast<double>(a.tile(k, k).extent(0)); };

  TaskGraph graph("linear::cholesky of " + a.label());
  std::vector<CoherentArray<int, rank<1>>> states;
  for (index_t k = 0; k < tiles; ++k) {
    const std::string label = "state of " + std::string(a.tile(k, k).label());
    states.emplace_back(label.c_str(), a.tile(k, k).extent(0) + 1, MemoryMode::Smart);
    const double nk = order(k);
    graph.call("potrf", d::TilePotrf<T>{by}, inout(a.tile(k, k)), out(states.back())).work(nk * nk * nk / 3);
    tile_type inverse;
    if (inverts && k + 1 < tiles) {
      const std::string name = "inverse of " + std::string(a.tile(k, k).label());
      inverse = tile_type(name.c_str(), a.tile(k, k).extent(0), a.tile(k, k).extent(0), uninitialized,
                          MemoryMode::Smart);
      graph.call("trtri", d::TileInverse<T>{by}, in(a.tile(k, k)), out(inverse)).work(nk * nk * nk);
    }
    for (index_t m = k + 1; m < tiles; ++m)
      (inverts ? graph.call("trsm", d::TileTimes<T>{by, {true, true}}, in(inverse), inout(a.tile(m, k)))
               : graph.call("trsm", d::TileTrsm<T>{by, {true, true}}, in(a.tile(k, k)), inout(a.tile(m, k))))
          .work(order(m) * nk * nk);
    if (inverse) graph.discard(inverse);
    for (index_t n = k + 1; n < tiles; ++n) {
      graph.call("syrk", d::TileSyrk<T>{by, -1, 1}, in(a.tile(n, k)), inout(a.tile(n, n)))
          .work(order(n) * (order(n) + 1) * nk);
      for (index_t m = n + 1; m < tiles; ++m)
        graph
            .call("gemm", d::TileGemm<T>{by, -1, 1, false, true}, in(a.tile(m, k)), in(a.tile(n, k)),
                  inout(a.tile(m, n)))
            .work(2 * order(m) * order(n) * nk);
    }
  }
  const TaskReport report = graph.run(where, options.run);
  d::check_pivots(d::tiled_shape(a), states);
  return report;
}

/// X with L L^T X = B takes the place of B, for the factor that cholesky() left in `l`. Throws ShapeMismatch
/// where `l` is not square, `b` has other rows or tiles, or is symmetric.
template <class T, Place Where>
TaskReport solve(const TiledMatrix<T>& l, const TiledMatrix<T>& b, const Where& where,
                 const TiledOptions& options = {}) {
  namespace d = strata::detail;
  d::check_tiled_square("linear::solve", d::tiled_shape(l));
  d::check_tiled_general("linear::solve", d::tiled_shape(b));
  d::check_tiled_agree("linear::solve", d::tiled_shape(l), "columns", l.columns(), d::tiled_shape(b), "rows",
                       b.rows());
  d::check_tiled_backend(where, options.backend);
  const d::TileBackend by{options.backend, options.tf32};

  TaskGraph graph("linear::solve with " + l.label());
  for (const bool transpose : {false, true})
    d::add_trsm(graph, by, {.transpose = transpose}, l, b, false, {"solve trsm", "solve gemm"});
  return graph.run(where, options.run);
}

}  // namespace strata::inline STRATA_ABI::linear
