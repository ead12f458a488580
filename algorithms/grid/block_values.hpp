// The values of blocks of rows, of which a part of a grid has some: grid_reduce.hpp.
//
// On GPUs the threads of a warp take the lanes of a block (execution::reduce_blocks). Elsewhere a work item
// makes a block, as a thread of a host takes all of its lanes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/core/check.hpp>
#include <strata/core/reduction_tree.hpp>
#include <strata/devices/host/loops.hpp>
#include <strata/devices/kernel_call.hpp>

namespace strata::inline STRATA_ABI::detail {

// The rows of a box in blocks of items, the last index counting fastest.
template <int Rank>
struct RowBlocks {
  TileRange<Rank> box;

  STRATA_FUNCTION index_t row_items() const {
    index_t items = 1;
    for (int d = 1; d < Rank; ++d) items *= box.upper[d] > box.lower[d] ? box.upper[d] - box.lower[d] : 0;
    return items;
  }
  /// Sets the indices of item `item` of a row.
  STRATA_FUNCTION void find(index_t item, index_t (&at)[Rank]) const {
    for (int d = Rank - 1; d > 0; --d) {
      const index_t n = box.upper[d] - box.lower[d];
      at[d] = box.lower[d] + item % n;
      item /= n;
    }
  }
  /// Whether so many items from `at` on lie along the last dimension.
  STRATA_FUNCTION bool has_next(const index_t (&at)[Rank], index_t items) const {
    return box.upper[Rank - 1] - at[Rank - 1] >= items;
  }
  /// Goes on by so many, which lie along the last dimension; at the end of a row anywhere.
  STRATA_FUNCTION void step(index_t (&at)[Rank], index_t items) const {
    at[Rank - 1] += items;
    for (int d = Rank - 1; d > 1 && at[d] == box.upper[d]; --d) {
      at[d] = box.lower[d];
      ++at[d - 1];
    }
  }
};

// values(row, block) = the value of a block of a row, which a work item makes; lanes are those of the tree.
template <class K, class Tag, int Rank, class Reducer>
struct ReduceBlock {
  K kernel;
  Reducer reducer;
  RowBlocks<Rank> rows;

  template <class P, class... V>
  STRATA_FUNCTION void operator()(index_t row, index_t block, const P& values, const V&... views) const {
    using T = typename P::value_type;
    constexpr int lanes = reduction_lanes<T>;
    const index_t first = block * reduction_block, left = rows.row_items() - first;
    const index_t count = left < reduction_block ? left : reduction_block;
    index_t at[Rank] = {row};
    rows.find(first, at);
    T lane[lanes];
    for (index_t l = 0; l < lanes && l < count; ++l) reducer.init(lane[l]);
    for (index_t k = 0; k < count; k += lanes) {
      if (count - k >= lanes && rows.has_next(at, lanes)) {
        STRATA_INDEPENDENT_ITEMS
        for (int l = 0; l < lanes; ++l)
          call<typename P::device_type>(std::make_index_sequence<Rank>(), at, l, views..., lane[l]);
        rows.step(at, lanes);
        continue;
      }
      for (index_t l = 0; l < lanes && k + l < count; ++l) {
        call<typename P::device_type>(std::make_index_sequence<Rank>(), at, 0, views..., lane[l]);
        rows.step(at, 1);
      }
    }
    join_lanes<lanes>(lane, count, [this](T& a, const T& b) { reducer.join(a, b); });
    values(row - rows.box.lower[0], block) = lane[0];
  }

 private:
  // The kernel for the item `ahead` items after `at`, along the last dimension.
  template <class D, std::size_t... R, class... A>
  STRATA_FUNCTION void call(std::index_sequence<R...>, const index_t* at, index_t ahead,
                            A&&... arguments) const {
    if constexpr (std::is_void_v<Tag>)
      KernelCallOf<D>::call(kernel, (at[R] + (R + 1 == Rank ? ahead : 0))..., static_cast<A&&>(arguments)...);
    else
      KernelCallOf<D>::call(kernel, Tag{}, (at[R] + (R + 1 == Rank ? ahead : 0))...,
                            static_cast<A&&>(arguments)...);
  }
};

// A block is no lane of a loop over items: its own items are.
struct NoLane {
  void operator()(index_t) const;
};
template <class K, class Tag, int Rank, class Reducer>
struct KernelWithin<ReduceBlock<K, Tag, Rank, Reducer>> {
  using type = NoLane;
};

// The end of a block where the device has a way of its own to make it.
template <class V>
struct StoreBlock {
  V values;
  index_t first_row;
  STRATA_FUNCTION void operator()(index_t row, index_t block, const typename V::value_type& value) const {
    values(row - first_row, block) = value;
  }
};

template <class D, int Rank, class Range, class... Arguments>
inline constexpr bool reduces_blocks = requires(const LaunchInfo& info, const Range& range,
                                                const Arguments&... arguments) {
  D::execution::template reduce_blocks<Rank>(info, range, ResidentRows(), ResidentRows(), arguments...);
};

// Launches on `on` what makes the values of the blocks `blocks` of the rows `rows` of `work`; `to` and
// `accesses` are as bind_kernel takes them.
template <class Reduction, class D, class R, class K, class Into, class To, class... Accesses>
void make_block_values(const char* label, const On<D>& on, const R& work, ResidentRows rows,
                       ResidentRows blocks, const K& kernel, const Into& into, const To& to,
                       const Accesses&... accesses) {
  using W = WorkOf<R>;
  using Call = KernelCallOf<D>;
  const auto reducer = Reduction::template reducer<Call>(kernel, into);
  using Reducer = std::remove_const_t<decltype(reducer)>;
  const auto range = W::get(work);
  using Bound = decltype(bind_views(kernel, view_to_bind(accesses)...));
  using Body = BodyFor<D, typename W::tag, Bound, W::rank>;
  using Values = typename decltype(view_to_bind(to))::unmanaged_type;
  using Store = StoreBlock<Values>;
  // Checked builds note which small elements a kernel has written, by the views that are bound to it.
  constexpr bool is_noted = checked_build && sizeof(typename Reducer::value_type) < least_marked_bytes;
  const index_t first_row = range.lower[0];
  if constexpr (!is_noted && reduces_blocks<D, W::rank, decltype(range), Body, Reducer, Store>) {
    static_assert(check_kernel<On<D>, Bound>());
    Capture views = make_capture<D>();
    CaptureScope scope(views);
    const Body body{bind_views(kernel, view_to_bind(accesses)...)};
    const Store store{Values(view_to_bind(to)), first_row};
    scope.end();
    const LaunchInfo info =
        make_info<D>(label, on, views, typeid(FunctorOf<Bound>).name(), tag_type<typename W::tag>());
    D::execution::template reduce_blocks<W::rank>(info, range, rows, blocks, body, reducer, store);
  } else {
    const ReduceBlock<K, typename W::tag, W::rank, Reducer> reduce{kernel, reducer, {range}};
    launch_for(label, on, mdrange({rows.begin, blocks.begin}, {rows.end, blocks.end}),
               bind_kernel<D, MDRange<2>>(reduce, to, accesses...));
  }
}

}  // namespace strata::inline STRATA_ABI::detail
