// Products of matrices larger than a device, as graphs of tasks; see tiled_cholesky.hpp for how they run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/tiled/tiled_options.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// C = beta C on the host, where there is no product to add.
template <class T>
void scale_on_host(const TiledMatrix<T>& c, T beta) {
  for (index_t i = 0; i < c.tile_rows(); ++i)
    for (index_t j = 0; j < (c.is_symmetric() ? i + 1 : c.tile_columns()); ++j) {
      const auto view = c.tile(i, j).read_write();
      for (index_t row = 0; row < c.tile(i, j).extent(0); ++row)
        for (index_t column = 0; column < c.tile(i, j).extent(1); ++column)
          view(row, column) = beta == T(0) ? T(0) : beta * view(row, column);
    }
}

}  // namespace detail

namespace linear {

/// C = alpha A B + beta C for matrices with all their tiles, of one order; C is not read where beta is 0, and
/// is neither A nor B. Throws ShapeMismatch, AccessConflict.
template <class T, Place Where>
TaskReport gemm(std::type_identity_t<T> alpha, const TiledMatrix<T>& a, const TiledMatrix<T>& b,
                std::type_identity_t<T> beta, const TiledMatrix<T>& c, const Where& where,
                const TiledOptions& options = {}) {
  namespace d = strata::detail;
  const d::TiledShape shapes[] = {d::tiled_shape(a), d::tiled_shape(b), d::tiled_shape(c)};
  for (const d::TiledShape& shape : shapes) d::check_tiled_general("linear::gemm", shape);
  d::check_tiled_agree("linear::gemm", shapes[0], "columns", a.columns(), shapes[1], "rows", b.rows());
  d::check_tiled_agree("linear::gemm", shapes[0], "rows", a.rows(), shapes[2], "rows", c.rows());
  d::check_tiled_agree("linear::gemm", shapes[1], "columns", b.columns(), shapes[2], "columns", c.columns());
  d::check_tiled_backend(where, options.backend);
  const d::TileBackend by{options.backend, options.tf32};

  TaskGraph graph("linear::gemm into " + c.label());
  if (a.tile_columns() == 0) d::scale_on_host(c, beta);
  for (index_t i = 0; i < c.tile_rows(); ++i)
    for (index_t j = 0; j < c.tile_columns(); ++j)
      for (index_t k = 0; k < a.tile_columns(); ++k) {
        const auto &left = a.tile(i, k), &right = b.tile(k, j), &sum = c.tile(i, j);
        const d::TileGemm<T> product{by, alpha, k == 0 ? beta : T(1)};
        const TaskHandle task = product.beta == T(0)
                                    ? graph.call("gemm", product, in(left), in(right), out(sum))
                                    : graph.call("gemm", product, in(left), in(right), inout(sum));
        task.work(2.0 * static_cast<double>(sum.size()) * static_cast<double>(left.extent(1)));
      }
  return graph.run(where, options.run);
}

/// C = alpha A A^T + beta C for a symmetric C (TiledMatrix::symmetric) and A with all its tiles, of one
/// order. Throws ShapeMismatch where C is not symmetric, A is, or their extents or orders of tiles differ;
/// Error where a host of the place is to use a library (TiledOptions::backend) and there is none; and what
/// TaskGraph::run throws, after which the values of C are unspecified.
template <class T, Place Where>
TaskReport syrk(std::type_identity_t<T> alpha, const TiledMatrix<T>& a, std::type_identity_t<T> beta,
                const TiledMatrix<T>& c, const Where& where, const TiledOptions& options = {}) {
  namespace d = strata::detail;
  const d::TiledShape of_a = d::tiled_shape(a), of_c = d::tiled_shape(c);
  d::check_tiled_general("linear::syrk", of_a);
  d::check_tiled_symmetric("linear::syrk", of_c);
  d::check_tiled_agree("linear::syrk", of_a, "rows", a.rows(), of_c, "rows", c.rows());
  d::check_tiled_backend(where, options.backend);
  const d::TileBackend by{options.backend, options.tf32};

  TaskGraph graph("linear::syrk into " + c.label());
  if (a.tile_columns() == 0) d::scale_on_host(c, beta);
  for (index_t i = 0; i < c.tile_rows(); ++i)
    for (index_t j = 0; j <= i; ++j)
      for (index_t k = 0; k < a.tile_columns(); ++k) {
        const auto &left = a.tile(i, k), &right = a.tile(j, k), &sum = c.tile(i, j);
        const T kept = k == 0 ? beta : T(1);
        const double pairs = static_cast<double>(sum.size()), inner = static_cast<double>(left.extent(1));
        // Off the diagonal all of a tile is written, on it a triangle.
        const d::TileGemm<T> product{by, alpha, kept, false, true};
        if (i == j)
          graph.call("syrk", d::TileSyrk<T>{by, alpha, kept}, in(left), inout(sum)).work(pairs * inner);
        else
          (kept == T(0) ? graph.call("gemm", product, in(left), in(right), out(sum))
                        : graph.call("gemm", product, in(left), in(right), inout(sum)))
              .work(2 * pairs * inner);
      }
  return graph.run(where, options.run);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
