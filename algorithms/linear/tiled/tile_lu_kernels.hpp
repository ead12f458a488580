// Strata's kernels of LU factors by tiles: what no library has, and all of it for devices without one.
//
// Tiles are row-major and factors with pivots are made by columns, of all rows below the diagonal at once. So
// a column of tiles is gathered into a panel, which is its transpose: panel(c, r) is row r of column c.
// Rows are numbered from the first one of the step's diagonal tile.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/core/config.hpp>
#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The integers of a step of a factor, one after the other in an array, for a diagonal tile of order n.
struct LuStep {
  index_t n;

  /// Of the library.
  static constexpr index_t info() { return 0; }
  /// The row, from 1 on, that was swapped with row x when it was its turn.
  STRATA_FUNCTION constexpr index_t pivot(index_t x) const { return 1 + x; }
  /// The row whose values are in row x < n after all swaps.
  STRATA_FUNCTION constexpr index_t from(index_t x) const { return 1 + n + x; }
  /// Where from(x) is not one of the first n: the one of these whose values row from(x) has after all swaps.
  STRATA_FUNCTION constexpr index_t into(index_t x) const { return 1 + 2 * n + x; }
  /// 1 where the pivot of column x is 0, is not finite, or is too small beside what is below it.
  STRATA_FUNCTION constexpr index_t failed(index_t x) const { return 1 + 3 * n + x; }
  /// How many they are.
  constexpr index_t size() const { return 1 + 4 * n; }
};

/// A tile, whose first row is `row`, goes into the panel or comes out of it; over its rows and columns.
template <bool ToPanel>
struct PanelCopyKernel {
  index_t row;
  STRATA_FUNCTION void operator()(index_t r, index_t c, auto from, auto to) const {
    if constexpr (ToPanel) to(c, row + r) = from(r, c);
    else to(r, c) = from(c, row + r);
  }
};
/// The same over squares of it: what caches like.
template <bool ToPanel>
struct PanelSquareKernel {
  static constexpr index_t width = 16;
  PanelCopyKernel<ToPanel> elements;
  index_t rows, columns;  // of the tile

  STRATA_FUNCTION void operator()(index_t square_row, index_t square_column, auto from, auto to) const {
    const index_t r_end = end(square_row, rows), c_end = end(square_column, columns);
    for (index_t c = square_column * width; c < c_end; ++c)
      for (index_t r = square_row * width; r < r_end; ++r) elements(r, c, from, to);
  }
  static constexpr index_t squares(index_t extent) { return (extent + width - 1) / width; }

 private:
  STRATA_FUNCTION static constexpr index_t end(index_t square, index_t extent) {
    return (square + 1) * width < extent ? (square + 1) * width : extent;
  }
};

/// The row of the largest value of column c from row c on, or of the first that is not a number; one item.
template <class T>
struct PanelPivotKernel {
  LuStep step;
  index_t c, rows;

  STRATA_FUNCTION void operator()(index_t, auto panel, auto integers) const {
    index_t found = c;
    T most = std::abs(panel(c, c));
    for (index_t r = c + 1; r < rows && most == most; ++r) {
      const T value = std::abs(panel(c, r));
      if (value > most || value != value) most = value, found = r;
    }
    integers(step.pivot(c)) = static_cast<int>(found + 1);
  }
};
/// Row c is swapped with its pivot; over the columns.
template <class T>
struct PanelSwapKernel {
  LuStep step;
  index_t c;

  STRATA_FUNCTION void operator()(index_t column, auto panel, auto integers) const {
    const index_t pivot = integers(step.pivot(c)) - 1;
    const T kept = panel(column, c);
    panel(column, c) = panel(column, pivot);
    panel(column, pivot) = kept;
  }
};
/// Column c of L, and what is right of it; over the rows below row c.
template <class T>
struct PanelEliminateKernel {
  index_t c, columns;

  STRATA_FUNCTION void operator()(index_t r, auto panel) const {
    const T factor = panel(c, r) / panel(c, c);
    panel(c, r) = factor;
    for (index_t column = c + 1; column < columns; ++column) panel(column, r) -= factor * panel(column, c);
  }
};

/// Marks columns whose pivot cannot be divided by; over the columns.
template <class T>
struct PanelDiagonalKernel {
  LuStep step;
  STRATA_FUNCTION void operator()(index_t c, auto panel, auto integers) const {
    const T pivot = panel(c, c);
    if (!(pivot != T(0) && pivot - pivot == T(0))) integers(step.failed(c)) = 1;
  }
};
/// Marks columns that have a NaN or Inf before they are factored, as cuSOLVER's search for pivots takes NaN
/// for zero and leaves finite factors. Over columns and groups of rows.
template <class T>
struct PanelFiniteKernel {
  LuStep step;
  index_t rows, groups;
  STRATA_FUNCTION void operator()(index_t c, index_t first, auto panel, auto integers) const {
    for (index_t r = first; r < rows; r += groups)
      if (!(panel(c, r) - panel(c, r) == T(0))) atomic_store(&integers(step.failed(c)), 1);
  }
};
struct ClearFailedKernel {
  LuStep step;
  STRATA_FUNCTION void operator()(index_t c, auto integers) const { integers(step.failed(c)) = 0; }
};
/// Marks columns that have an element larger than `limit`, or no number, at mark(first_mark + column). Over
/// columns and groups of rows of a panel, of which the elements below the diagonal count; or over groups of
/// rows and columns of a tile.
template <class T>
struct LargeFactorsKernel {
  T limit;
  index_t rows, groups, first_mark;
  bool is_panel;

  STRATA_FUNCTION void operator()(index_t first, index_t second, auto values, auto marks) const {
    const index_t column = is_panel ? first : second;
    for (index_t r = is_panel ? second : first; r < rows; r += groups) {
      if (is_panel && r <= column) continue;
      const T value = is_panel ? values(column, r) : values(r, column);
      if (!(std::abs(value) <= limit)) atomic_store(&marks(first_mark + column), 1);
    }
  }
};
struct ClearMarksKernel {
  STRATA_FUNCTION void operator()(index_t i, auto marks) const { marks(i) = 0; }
};

/// What swaps in their order make of rows: row x has the values of row content(x). One item, when content(x)
/// is x for all rows.
struct ReplaySwapsKernel {
  LuStep step;
  STRATA_FUNCTION void operator()(index_t, auto content, auto integers) const {
    for (index_t x = 0; x < step.n; ++x) {
      const index_t pivot = integers(step.pivot(x)) - 1;
      const int kept = content(x);
      content(x) = content(pivot);
      content(pivot) = kept;
    }
  }
};
struct CountRowsKernel {
  STRATA_FUNCTION void operator()(index_t i, auto content) const { content(i) = static_cast<int>(i); }
};
/// Over the first n rows. Swaps bring only such rows down, so what a row below them has is one of them.
struct TabulateSwapsKernel {
  LuStep step;
  STRATA_FUNCTION void operator()(index_t x, auto content, auto integers) const {
    const int from = content(x);
    integers(step.from(x)) = from;
    integers(step.into(x)) = content(from);
  }
};

/// The swaps among the rows of the diagonal's row of tiles, of which `before` is a copy; `back`: undone. Over
/// its rows and columns.
struct SwapTopKernel {
  LuStep step;
  bool back;

  STRATA_FUNCTION void operator()(index_t x, index_t c, auto integers, auto before, auto top) const {
    const index_t from = integers(step.from(x));
    if (from >= step.n) return;
    if (back) top(from, c) = before(x, c);
    else top(x, c) = before(from, c);
  }
};
/// The swaps between these rows and those of another tile, whose first row is `row`. Each row of it that
/// moves gives its values to one row above, and gets those of one. Over the rows of `before`, and columns.
template <class T>
struct SwapRowsKernel {
  LuStep step;
  bool back;
  index_t row;

  STRATA_FUNCTION void operator()(index_t x, index_t c, auto integers, auto before, auto top,
                                  auto tile) const {
    const index_t from = integers(step.from(x)) - row;
    if (from < 0 || from >= tile.extent(0)) return;
    const index_t into = integers(step.into(x));
    const T value = tile(from, c);
    tile(from, c) = before(back ? x : into, c);
    top(back ? into : x, c) = value;
  }
};
/// The same over rows, for who goes through the columns himself.
template <class T>
struct SwapWholeRowsKernel {
  SwapRowsKernel<T> elements;
  STRATA_FUNCTION void operator()(index_t x, auto integers, auto before, auto top, auto tile) const {
    const index_t from = integers(elements.step.from(x)) - elements.row;
    if (from < 0 || from >= tile.extent(0)) return;
    for (index_t c = 0; c < top.extent(1); ++c) elements(x, c, integers, before, top, tile);
  }
};
struct CopyTileKernel {
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto from, auto to) const { to(i, j) = from(i, j); }
};

/// A triangle of a tile, with zeros in the other, and ones on its diagonal where it is `unit`.
template <class T>
struct TileTriangleKernel {
  bool upper, unit;
  STRATA_FUNCTION void operator()(index_t i, index_t j, auto from, auto to) const {
    to(i, j) = i == j ? unit ? T(1) : from(i, j) : upper == (j > i) ? from(i, j) : T(0);
  }
};

}  // namespace strata::inline STRATA_ABI::detail
