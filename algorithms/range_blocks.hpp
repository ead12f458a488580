// The values of the blocks of a range, the leaves of the tree of a reduction, each by itself: what a device
// of several makes of its part.
//
// On GPUs the threads of a warp take the lanes of a block (execution::reduce_range_blocks), as in a
// reduction. Elsewhere a work item makes a block.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/core/layout.hpp>
#include <strata/core/reduction_tree.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Stores the value of block number `first` as values(0), and so on.
template <class V>
struct StoreBlockValue {
  V values;
  index_t first;
  STRATA_FUNCTION void operator()(index_t, index_t block, const typename V::value_type& value) const {
    values(block - first) = value;
  }
};

// Makes a block of the range [begin, end).
template <class D, class Body, class Reducer, class Store>
struct ReduceRangeBlock {
  using device_type = D;
  Body body;
  Reducer reducer;
  Store store;
  index_t begin, end;

  STRATA_FUNCTION void operator()(index_t block) const {
    using T = typename Reducer::value_type;
    constexpr int lanes = reduction_lanes<T>;
    const BlockItems items = items_of_block(block, begin, end);
    const index_t count = items.end - items.begin;
    T lane[lanes];
    for (index_t l = 0; l < lanes && l < count; ++l) reducer.init(lane[l]);
    for (index_t k = 0; k < count; ++k) body(items.begin + k, lane[k % lanes]);
    join_lanes<lanes>(lane, count, [this](T& a, const T& b) { reducer.join(a, b); });
    store(0, block, lane[0]);
  }
};

template <class D, class Range, class... Arguments>
inline constexpr bool reduces_range_blocks = requires(const LaunchInfo& info, const Range& range,
                                                      const Arguments&... arguments) {
  D::execution::reduce_range_blocks(info, range, arguments...);
};

/// Launches on `on` what makes the values of the blocks of `work`, of one dimension; `kernel` is bound to its
/// views.
template <class D, class R, class K, class Reducer, class V>
void make_range_values(const char* label, const On<D>& on, const R& work, const K& kernel,
                       const Reducer& reducer, const StoreBlockValue<V>& to) {
  using W = WorkOf<R>;
  static_assert(W::rank == 1);
  using Body = BodyFor<D, typename W::tag, K, 1>;
  const auto range = W::get(work);
  static_assert(check_kernel<On<D>, K>());
  if constexpr (reduces_range_blocks<D, std::remove_const_t<decltype(range)>, Body, Reducer,
                                     StoreBlockValue<V>>) {
    Capture views = make_capture<D>();
    CaptureScope scope(views);
    const Body body{kernel};
    const StoreBlockValue<V> store = to;
    scope.end();
    const LaunchInfo info =
        make_info<D>(label, on, views, typeid(FunctorOf<K>).name(), tag_type<typename W::tag>());
    D::execution::reduce_range_blocks(info, range, body, reducer, store);
  } else {
    const BlockRange blocks = reduction_blocks(range.begin, range.end);
    launch_for(label, on, strata::range(blocks.first, blocks.last),
               ReduceRangeBlock<D, Body, Reducer, StoreBlockValue<V>>{Body{kernel}, reducer, to, range.begin,
                                                                      range.end});
  }
}

}  // namespace strata::inline STRATA_ABI::detail
