// Strata's own kernels for tiles: plain, for every device. A library is many times as fast.
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

/// op(l) x = b, or x op(l) = b from the right, for lower triangular l; x takes the place of b. Over the
/// columns of b, or from the right its rows.
template <class T>
struct TileSolveKernel {
  bool from_right, transpose;

  STRATA_FUNCTION void operator()(index_t item, auto l, auto b) const {
    const index_t n = l.extent(0);
    const bool forward = from_right == transpose;
    for (index_t step = 0; step < n; ++step) {
      const index_t j = forward ? step : n - 1 - step;
      const index_t begin = forward ? 0 : j + 1, end = forward ? j : n;
      T rest = value(b, item, j);
      for (index_t s = begin; s < end; ++s) rest -= value(b, item, s) * (forward ? l(j, s) : l(s, j));
      value(b, item, j) = rest / l(j, j);
    }
  }

 private:
  STRATA_FUNCTION T& value(const auto& b, index_t item, index_t j) const {
    return from_right ? b(item, j) : b(j, item);
  }
};

/// The tile is the identity; over its rows and columns.
struct TileIdentityKernel {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto tile) const { tile(i, j) = i == j ? 1 : 0; }
};

/// b = b l^T for lower triangular l; over the rows of b.
template <class T>
struct TileTimesKernel {
  STRATA_FUNCTION void operator()(index_t i, auto l, auto b) const {
    for (index_t j = l.extent(0) - 1; j >= 0; --j) {  // which needs what is before it
      T sum = 0;
      for (index_t s = 0; s <= j; ++s) sum += b(i, s) * l(j, s);
      b(i, j) = sum;
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
