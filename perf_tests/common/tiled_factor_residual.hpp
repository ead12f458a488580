// How far a tiled Cholesky factor of strata_tiled_linear is from one of KnownMatrix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <strata/algorithms/linear/tiled/tiled_cholesky.hpp>

#include "common/tiled_runs.hpp"

namespace perf {

/// y += L x or L^T x for the lower triangle of a tile.
struct LowerTimesKernel {
  bool transpose;
  STRATA_FUNCTION void operator()(strata::index_t i, auto l, auto x, auto y) const {
    auto sum = y(i, 0);
    const strata::index_t begin = transpose ? i : 0, end = transpose ? l.extent(0) : i + 1;
    for (strata::index_t k = begin; k < end; ++k) sum += (transpose ? l(k, i) : l(i, k)) * x(k, 0);
    y(i, 0) = sum;
  }
};
struct LowerTimes {
  bool transpose;
  template <class D>
  void operator()(const strata::Queue<D>& queue, const auto& l, const auto& x, const auto& y) const {
    strata::parallel_for(on(queue), l.extent(0), strata::with(LowerTimesKernel{transpose}, l, x, y));
  }
};

/// The largest component of A v - u, over the largest that a row of |A| |v| can have, for A = KnownMatrix and
/// v = vector_entry: of a vector u that is to be A v.
template <class T>
double distance_from_known_product(const strata::TiledMatrix<T>& u) {
  const strata::index_t n = u.rows();
  double dot = 0, most = 0;
  for (strata::index_t i = 0; i < n; ++i) dot += scattered(i) * vector_entry(i);
  u.read([&](strata::index_t i, strata::index_t, T value) {
    const double apart =
        std::abs(scattered(i) * dot + KnownMatrix::shift * vector_entry(i) - static_cast<double>(value));
    most = std::isnan(apart) || apart > most ? apart : most;
  });
  return most / (static_cast<double>(n) / 4 + KnownMatrix::shift);
}
/// What that may be: sums round at random; factors in TF32 have errors of 2^-11.
template <class T>
double allowed_distance(strata::index_t n, bool tf32) {
  const double rounding = 4 * std::sqrt(static_cast<double>(n)) * std::numeric_limits<T>::epsilon();
  return rounding + (tf32 && sizeof(T) == 4 ? 0.01 : 0);
}

template <class T, strata::Place Where>
class FactorResidual {
  using index_t = strata::index_t;
  using Matrix = strata::TiledMatrix<T>;

 public:
  /// It is multiplied at the place; `options`: by whose kernels, and how files are read.
  FactorResidual(const Matrix& factor, const Where& where, const strata::linear::TiledOptions& options)
      : a_(factor), n_(factor.rows()), where_(where), options_(options) {
    options_.run.costs = nullptr;
    options_.run.make_scheduler = {};
  }

  /// See distance_from_known_product.
  double value() const {
    const index_t tile = a_.tile_order();
    const Matrix v("v", n_, 1, tile), w("w", n_, 1, tile), u("u", n_, 1, tile);
    v.fill([](index_t i, index_t) { return vector_entry(i); });
    multiply(v, w, true);
    multiply(w, u, false);
    return distance_from_known_product(u);
  }
  double allowed(bool tf32) const { return allowed_distance<T>(n_, tf32); }

 private:
  // y = L x or L^T x
  void multiply(const Matrix& x, const Matrix& y, bool transpose) const {
    strata::TaskGraph graph("residual");
    const strata::detail::TileGemm<T> product{{options_.backend, false}, 1, 1, transpose, false};
    for (index_t i = 0; i < a_.tile_rows(); ++i)
      for (index_t j = 0; j <= i; ++j) {
        const index_t from = transpose ? i : j, to = transpose ? j : i;
        if (i == j)
          graph.call("diagonal", LowerTimes{transpose}, in(a_.tile(i, j)), in(x.tile(from, 0)),
                     inout(y.tile(to, 0)));
        else graph.call("product", product, in(a_.tile(i, j)), in(x.tile(from, 0)), inout(y.tile(to, 0)));
      }
    graph.run(where_, options_.run);
  }

  const Matrix& a_;
  const index_t n_;
  const Where where_;
  strata::linear::TiledOptions options_;
};

}  // namespace perf
