// launch_reduce over a grid of parts: grid.hpp.
//
// The tree of a reduction over a box has rows for leaves, and a row has blocks of 512 items from its first
// one on (core/reduction_tree.hpp). A part has whole blocks of some rows. A launch over the grid makes the
// values of all blocks; then a reduction over the rows, on the first device, joins those of each row and goes
// on as on one device. So bits are the same, and only values of blocks go from device to device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/grid/block_values.hpp>
#include <strata/algorithms/grid/grid_launch.hpp>
#include <strata/core/reduction_tree.hpp>

namespace strata::inline STRATA_ABI::detail {

// Of a row the values of blocks, joined pairwise, in place: each stands for `step` blocks, up to the one that
// stands for `last_step`.
template <class Reducer, class P>
STRATA_FUNCTION void join_blocks(const Reducer& reducer, const P& values, index_t row, index_t first,
                                 index_t blocks, index_t step, index_t last_step) {
  const index_t left = blocks - first, end = left < last_step ? left : last_step;
  for (; step < end; step *= 2)
    for (index_t b = 0; b + step < end; b += 2 * step)
      reducer.join(values(row, first + b), values(row, first + b + step));
}

// Rows of many blocks: a work item joins the values of a group.
inline constexpr index_t joined_by_item = 32;
template <class Reducer>
struct JoinGroupOfBlocks {
  Reducer reducer;
  index_t blocks, step;

  template <class P>
  STRATA_FUNCTION void operator()(index_t row, index_t group, const P& values) const {
    const index_t stride = step * joined_by_item;
    join_blocks(reducer, values, row, group * stride, blocks, step, stride);
  }
};

// Adds the value of a row to a reduction over rows: those of its blocks.
template <class Reducer>
struct JoinBlocks : Reducer {
  index_t first_row, blocks, step;
  JoinBlocks(const Reducer& reducer, index_t first, index_t count, index_t of_value)
      : Reducer(reducer), first_row(first), blocks(count), step(of_value) {}

  template <class P>
  STRATA_FUNCTION void operator()(index_t row, index_t, const P& values,
                                  typename P::value_type& value) const {
    join_blocks(static_cast<const Reducer&>(*this), values, row - first_row, 0, blocks, step, blocks);
    value = values(row - first_row, 0);
  }
};

// Blocks of a row, and the indices of dimension 1 that they touch.
struct BlockColumns {
  index_t first, last;  // indices of dimension 1
  index_t inner;        // items of each
  index_t blocks;

  /// The fewest blocks that are a whole number of these indices.
  index_t unit() const { return inner / std::gcd(inner, reduction_block); }
  ResidentRows of(ResidentRows these) const {
    const auto cut = [this](index_t block) {
      return block == blocks ? last : first + block * reduction_block / inner;
    };
    return {cut(these.begin), cut(these.end)};
  }
};
template <int Rank>
BlockColumns columns_of(const RowBlocks<Rank>& rows) {
  index_t inner = 1;
  for (int d = 2; d < Rank; ++d) inner *= rows.box.upper[d] - rows.box.lower[d];
  const index_t items = rows.row_items();
  return {rows.box.lower[1], rows.box.upper[1], inner,
          items / reduction_block + (items % reduction_block != 0)};
}

template <class Where>
GridShape shape_of_blocks(const Where& where) {
  GridShape shape = shape_of(where);
  if constexpr (PlaceTraits<Where>::cuts > 2) {
    // Parts along the third index have blocks, too: sizes are products.
    const auto size = [&](std::size_t d, std::size_t k) {
      return shape.weights[d].empty() ? 1. : shape.weights[d][k];
    };
    std::vector<double> sizes;
    for (std::size_t j = 0; j < shape.count[1]; ++j)
      for (std::size_t k = 0; k < shape.count[2]; ++k) sizes.push_back(size(1, j) * size(2, k));
    shape.count[1] *= shape.count[2];
    shape.weights[1] = static_cast<std::vector<double>&&>(sizes);
    shape.cuts = 2;
  }
  return shape;
}

template <class Where, class R, class K, class Into, class... Accesses>
void reduce_on_grid(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                    const Accesses&... accesses) {
  using W = WorkOf<R>;
  using Reduction = ReductionOf<K, std::remove_cvref_t<Into>>;
  using T = typename Reduction::value_type;
  const RowBlocks<W::rank> rows{W::get(work)};
  const GridItems range = items_of_work<1>(work);
  const bool is_empty = range.of[0].begin >= range.of[0].end || rows.row_items() == 0;
  if (is_empty || PlaceTraits<Where>::count(where) == 1)
    return visit_part(where, 0, [&](const auto& on) {
      reduce_on_one(label, on, work, kernel, static_cast<Into&&>(into), accesses...);
    });
  check_all_fit<K>(label, work, accesses...);
  const BlockColumns columns = columns_of(rows);
  const GridParts grid =
      grid_parts(shape_of_blocks(where), GridItems{{range.of[0], ResidentRows{0, columns.blocks}}, 2},
                 {alignment_of_all<Accesses...>(), columns.unit(), 1});
  const CoherentArray<T, rank<2>, LayoutRight> values("partial results", range.of[0].end - range.of[0].begin,
                                                      columns.blocks, uninitialized, MemoryMode::Smart);
  {
    const auto all = out(values, everything);
    CoherentCall call = make_call<R, K>(label);
    for (const GridPart& part : grid.parts) {
      const ResidentRows mine = part.items.of[0], blocks = part.items.of[1];
      add_part_of(call, where, part.place);
      const index_t first = range.of[0].begin;
      call.add_use(*values.state(), AccessMode::Out,
                   {Box({mine.begin - first, blocks.begin}, {mine.end - first, blocks.end}), {}});
      (declare_items(call, grid, accesses, GridItems{{mine, columns.of(blocks)}, 2}), ...);
    }
    call.prepare();
    for (std::size_t p = 0; p < grid.parts.size(); ++p)
      visit_part(where, grid.parts[p].place, [&]<class D>(const On<D>& on) {
        const ResidentRows mine = grid.parts[p].items.of[0], blocks = grid.parts[p].items.of[1];
        const GridItems items{{mine, columns.of(blocks)}, 2};
        run_part(
            call, static_cast<int>(p), on, false,
            [&](const auto& to, const auto&... resolved) {
              make_block_values<Reduction>(label, on, work, mine, blocks, kernel, into, to,
                                           with_columns<2>(resolved, accesses, items)...);
            },
            all, accesses...);
      });
  }
  visit_part(where, 0, [&]<class D>(const On<D>& on) {
    const auto reducer = Reduction::template reducer<KernelCallOf<D>>(kernel, into);
    using Reducer = std::remove_const_t<decltype(reducer)>;
    const index_t first = range.of[0].begin, end = range.of[0].end;
    index_t step = 1;
    for (index_t left = columns.blocks; left > joined_by_item; step *= joined_by_item) {
      left = (left - 1) / joined_by_item + 1;
      launch_at(label, on, mdrange({end - first, left}),
                JoinGroupOfBlocks<Reducer>{reducer, columns.blocks, step}, inout(values, everything));
    }
    reduce_on_one(label, on, mdrange({first, 0}, {end, 1}),
                  JoinBlocks<Reducer>(reducer, first, columns.blocks, step), static_cast<Into&&>(into),
                  inout(values, everything));
  });
}

// Whether the kernel can be called on a device, and on those of a place, as parallel_reduce asks of one.
template <class D, class R, class K, class T, class... Accesses>
constexpr bool can_reduce() {
  return can_call<D, typename WorkOf<R>::tag, With<K, BoundTo<ResolvedOn<D, Accesses>>...>, WorkOf<R>::rank,
                  T&>;
}
template <class D, class R, class K, class T, class... Accesses>
constexpr bool loses_value() {
  return loses_values<D, typename WorkOf<R>::tag, With<K, BoundTo<ResolvedOn<D, Accesses>>...>,
                      WorkOf<R>::rank, T&>;
}
template <class Where>
struct ReducesAt;
template <int Cuts, class... D>
struct ReducesAt<GridAcross<Cuts, D...>> {
  template <class... Launch>
  static constexpr bool callable = (can_reduce<D, Launch...>() && ...);
  template <class... Launch>
  static constexpr bool loses = (loses_value<D, Launch...>() || ...);
};
template <class Where, class R, class K, class T, class... Accesses>
constexpr bool check_grid_reduction() {
  constexpr bool one_value = !std::is_array_v<T>;
  static_assert(
      one_value,
      "strata: launch_reduce over several devices: values of run-time length are reduced on one device");
  if constexpr (one_value) {
    constexpr bool callable = ReducesAt<Where>::template callable<R, K, T, Accesses...>;
    static_assert(
        callable,
        "strata: launch_reduce: the kernel cannot be called as kernel(index..., views..., value&) "
        "const: give it a const operator() that takes (the tag,) one index for each dimension, a view "
        "for each access and a reference to the value");
    if constexpr (callable) {
      constexpr bool keeps = !ReducesAt<Where>::template loses<R, K, T, Accesses...>;
      static_assert(
          keeps,
          "strata: launch_reduce: the kernel takes its value by value, so that what it adds is lost: "
          "you wrote `double sum` or `auto sum`; write `double& sum` or `auto& sum`");
      return keeps;
    }
  }
  return false;
}

template <>
struct ReduceBy<LaunchWay::Grid> {
  template <class Where, class R, class K, class Into, class... Accesses>
  static void reduce(const char* label, const Where& where, const R& work, const K& kernel, Into&& into,
                     const Accesses&... accesses) {
    if constexpr (check_cuts<Where, R>())
      if constexpr (check_coherent_reduction<K, Into>() && check_parts<Where, Accesses...>()) {
        using T = typename ReductionOf<K, std::remove_cvref_t<Into>>::value_type;
        if constexpr (check_grid_reduction<Where, R, K, T, Accesses...>())
          reduce_on_grid(label, where, work, kernel, static_cast<Into&&>(into), accesses...);
      }
  }
  template <class Where, class... Rest>
  static void scan(const char*, const Where&, const Rest&...) {
    static_assert(
        never<Where>,
        "strata: launch_scan(across(...).grid(...)): each part of a scan begins with the total of those "
        "before it: you wrote grid(...); write across(...) without grid");
  }
};

}  // namespace strata::inline STRATA_ABI::detail
