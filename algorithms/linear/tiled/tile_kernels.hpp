// Strata's own kernels for tiles: plain, for every device. A library is many times as fast.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// c = alpha op(a) op(b) + beta c, or the lower triangle of it; over (rows, columns) of c, which is not read
/// where beta is 0.
template <class T>
struct TileProductKernel {
  T alpha, beta;
  bool transpose_a, transpose_b, lower;

  STRATA_FUNCTION void operator()(index_t i, index_t j, auto a, auto b, auto c) const {
    if (lower && j > i) return;
    const index_t inner = transpose_a ? a.extent(0) : a.extent(1);
    T sum = 0;
    for (index_t k = 0; k < inner; ++k)
      sum += (transpose_a ? a(k, i) : a(i, k)) * (transpose_b ? b(j, k) : b(k, j));
    c(i, j) = beta == T(0) ? alpha * sum : alpha * sum + beta * c(i, j);
  }
};

/// How a tile that is triangular meets another one.
struct TileTriangle {
  bool from_right;     ///< b op(t), else op(t) b
  bool transpose;      ///< op(t) is t^T
  bool upper = false;  ///< the triangle of t that counts
  bool unit = false;   ///< its diagonal counts as ones

  /// For each item, a column of b or from the right a row, op(t) is E with E v = b or b = E v, v being the
  /// item: its elements are t(j, s) where it is direct, else t(s, j).
  STRATA_FUNCTION constexpr bool is_direct() const { return from_right == transpose; }
  STRATA_FUNCTION constexpr bool is_lower() const { return is_direct() != upper; }
  STRATA_FUNCTION static auto& value(bool from_right, const auto& b, index_t item, index_t j) {
    return from_right ? b(item, j) : b(j, item);
  }
};

/// op(t) x = b, or x op(t) = b from the right; x takes the place of b. Over the columns of b, or from the
/// right its rows.
template <class T>
struct TileSolveKernel {
  TileTriangle triangle;

  STRATA_FUNCTION void operator()(index_t item, auto t, auto b) const {
    const index_t n = t.extent(0);
    const bool forward = triangle.is_lower(), direct = triangle.is_direct(), right = triangle.from_right;
    for (index_t step = 0; step < n; ++step) {
      const index_t j = forward ? step : n - 1 - step;
      const index_t begin = forward ? 0 : j + 1, end = forward ? j : n;
      T rest = TileTriangle::value(right, b, item, j);
      for (index_t s = begin; s < end; ++s)
        rest -= TileTriangle::value(right, b, item, s) * (direct ? t(j, s) : t(s, j));
      TileTriangle::value(right, b, item, j) = triangle.unit ? rest : rest / t(j, j);
    }
  }
};

/// tile = factor tile, which is not read where factor is 0; over its rows and columns.
template <class T>
struct TileScaleKernel {
  T factor;

  STRATA_FUNCTION void operator()(index_t i, index_t j, auto tile) const {
    tile(i, j) = factor == T(0) ? T(0) : factor * tile(i, j);
  }
};

/// The tile is the identity; over its rows and columns.
struct TileIdentityKernel {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto tile) const { tile(i, j) = i == j ? 1 : 0; }
};

/// b = op(t) b, or b op(t) from the right. Over the columns of b, or from the right its rows.
template <class T>
struct TileTimesKernel {
  TileTriangle triangle;

  STRATA_FUNCTION void operator()(index_t item, auto t, auto b) const {
    const index_t n = t.extent(0);
    const bool lower = triangle.is_lower(), direct = triangle.is_direct(), right = triangle.from_right;
    for (index_t step = 0; step < n; ++step) {  // first what the others do not need
      const index_t j = lower ? n - 1 - step : step;
      T sum = 0;
      for (index_t s = lower ? 0 : j; s < (lower ? j + 1 : n); ++s) {
        const T factor = s == j && triangle.unit ? T(1) : direct ? t(j, s) : t(s, j);
        sum += TileTriangle::value(right, b, item, s) * factor;
      }
      TileTriangle::value(right, b, item, j) = sum;
    }
  }
};

/// Column k of the factor of a, below the diagonal; over the rows from k + 1 on, when all columns before it
/// are there. Diagonals stay as they were until TileDiagonalKernel.
template <class T>
struct TileColumnKernel {
  index_t k;

  STRATA_FUNCTION void operator()(index_t i, auto a) const {
    T pivot = a(k, k), rest = a(i, k);
    for (index_t j = 0; j < k; ++j) {
      const T factor = a(k, j);
      pivot -= factor * factor;
      rest -= a(i, j) * factor;
    }
    a(i, k) = rest / std::sqrt(pivot);
  }
};

/// The diagonal of the factor of a where it is not there yet, and whether it is positive and finite: status(i
/// + 1) is 0 then, else 1. Over the rows.
template <class T>
struct TileDiagonalKernel {
  bool is_factored;

  STRATA_FUNCTION void operator()(index_t i, auto a, auto status) const {
    T pivot = a(i, i);
    if (!is_factored) {
      for (index_t j = 0; j < i; ++j) pivot -= a(i, j) * a(i, j);
      a(i, i) = std::sqrt(pivot);
      if (i == 0) status(0) = 0;
    }
    status(i + 1) = pivot > T(0) && pivot - pivot == T(0) ? 0 : 1;
  }
};

}  // namespace strata::inline STRATA_ABI::detail
