// What tasks of LU factors do with tiles and panels (tile_lu_kernels.hpp), as tile_operations.hpp does it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include <strata/algorithms/linear/tiled/tile_lu_kernels.hpp>
#include <strata/algorithms/linear/tiled/tile_operations.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Groups of rows that are looked through at once.
inline constexpr index_t row_groups = 32;

/// A tile goes into the panel of its column, from row `row` on, or comes out of it.
template <bool ToPanel>
struct TilePanelCopy {
  index_t row;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& from, const auto& to) const {
    const char* const label = ToPanel ? "gather" : "scatter";
    const auto rows = ToPanel ? from.extent(0) : to.extent(0),
               columns = ToPanel ? from.extent(1) : to.extent(1);
    const PanelCopyKernel<ToPanel> kernel{row};
    if constexpr (std::is_same_v<D, AnyHost>) {
      using Squares = PanelSquareKernel<ToPanel>;
      parallel_for(label, on(queue), mdrange({Squares::squares(rows), Squares::squares(columns)}),
                   with(Squares{kernel, rows, columns}, from, to));
    } else {
      parallel_for(label, on(queue), mdrange({rows, columns}), with(kernel, from, to));
    }
  }
};
using TileGather = TilePanelCopy<true>;
using TileScatter = TilePanelCopy<false>;

/// The factors of the first `rows` rows and step.n columns of a panel take their place. Marks columns whose
/// factors in L are above `limit`. Pivots and what follows from them only where it `pivots`.
template <class T>
struct PanelGetrf {
  TileBackend by;
  LuStep step;
  index_t rows;
  bool pivots;
  double limit;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& panel, const auto& integers) const {
    int* const numbers = integers.data() + integers.mapping()(integers.begin(0));
    const GetrfCall call{rows,
                         step.n,
                         tile_data(panel),
                         panel.stride(0),
                         pivots ? numbers + step.pivot(0) : nullptr,
                         numbers + LuStep::info()};
    const auto all = mdrange({step.n, row_groups});
    parallel_for("getrf", on(queue), step.n, with(ClearFailedKernel{step}, integers));
    if (pivots)
      parallel_for("getrf", on(queue), all,
                   with(PanelFiniteKernel<T>{step, rows, row_groups}, panel, integers));
    if (!run_library<T>("getrf", by, queue, call)) factor(queue, panel, integers);
    parallel_for("getrf", on(queue), step.n, with(PanelDiagonalKernel<T>{step}, panel, integers));
    const LargeFactorsKernel<T> mark{static_cast<T>(limit), rows, row_groups, step.failed(0), true};
    parallel_for("getrf", on(queue), all, with(mark, panel, integers));
  }

 private:
  void factor(const auto& queue, const auto& panel, const auto& integers) const {
    for (index_t c = 0; c < step.n; ++c) {
      if (pivots) {
        parallel_for("getrf", on(queue), 1, with(PanelPivotKernel<T>{step, c, rows}, panel, integers));
        parallel_for("getrf", on(queue), step.n, with(PanelSwapKernel<T>{step, c}, panel, integers));
      }
      if (c + 1 < rows)
        parallel_for("getrf", on(queue), range(c + 1, rows), with(PanelEliminateKernel<T>{c, step.n}, panel));
    }
  }
};
/// The same, and the table of its swaps; `content` has an integer for each row.
template <class T>
struct PanelGetrfWithSwaps {
  PanelGetrf<T> getrf;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& panel, const auto& content, const auto& integers) const {
    const LuStep step = getrf.step;
    getrf(queue, panel, integers);
    parallel_for("getrf", on(queue), getrf.rows, with(CountRowsKernel{}, content));
    parallel_for("getrf", on(queue), 1, with(ReplaySwapsKernel{step}, content, integers));
    parallel_for("getrf", on(queue), step.n, with(TabulateSwapsKernel{step}, content, integers));
  }
};
/// The factors without pivots of a tile, by way of its transpose in `scratch`, of the same extents.
template <class T>
struct TileGetrf {
  PanelGetrf<T> getrf;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& tile, const auto& scratch, const auto& integers) const {
    TileGather{0}(queue, tile, scratch);
    getrf(queue, scratch, integers);
    TileScatter{0}(queue, scratch, tile);
  }
};

/// l u = b: l takes the place of b. marks(c) is 1 where column c of it has a value above `limit`, else 0.
/// `Solve`: TileTrsm or TileTimes.
template <class T, class Solve>
struct TileFactorBelow {
  Solve solve;
  double limit;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& u, const auto& b, const auto& marks) const {
    solve(queue, u, b);
    const index_t columns = b.extent(1);
    const LargeFactorsKernel<T> mark{static_cast<T>(limit), b.extent(0), row_groups, 0, false};
    parallel_for("trsm", on(queue), columns, with(ClearMarksKernel{}, marks));
    parallel_for("trsm", on(queue), mdrange({row_groups, columns}), with(mark, b, marks));
  }
};

/// The swaps of a step among the rows of its top tile, which is copied to `before`.
struct TileSwapTop {
  LuStep step;
  bool back;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& integers, const auto& top, const auto& before) const {
    const auto all = mdrange({top.extent(0), top.extent(1)});
    parallel_for("swap top", on(queue), all, with(CopyTileKernel{}, top, before));
    parallel_for("swap top", on(queue), all, with(SwapTopKernel{step, back}, integers, before, top));
  }
};
/// Those between these rows and a tile below, whose first row is `row`.
template <class T>
struct TileSwapRows {
  LuStep step;
  bool back;
  index_t row;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& integers, const auto& before, const auto& top,
                  const auto& tile) const {
    const SwapRowsKernel<T> kernel{step, back, row};
    if constexpr (std::is_same_v<D, AnyHost>)
      parallel_for("swap rows", on(queue), top.extent(0),
                   with(SwapWholeRowsKernel<T>{kernel}, integers, before, top, tile));
    else
      parallel_for("swap rows", on(queue), mdrange({top.extent(0), top.extent(1)}),
                   with(kernel, integers, before, top, tile));
  }
};

/// to = a triangle of `from`
template <class T>
struct TileTriangleCopy {
  bool upper, unit;

  template <class D>
  void operator()(const Queue<D>& queue, const auto& from, const auto& to) const {
    parallel_for("triangle", on(queue), mdrange({to.extent(0), to.extent(1)}),
                 with(TileTriangleKernel<T>{upper, unit}, from, to));
  }
};

}  // namespace strata::inline STRATA_ABI::detail
