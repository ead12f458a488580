// MDArray: the Kokkos Array paper's multidimensional array (section 3.1), in three spellings:
//
//   MDArray<double, Device>                    rank at run time, at most 8
//   MDArray<double, Device, rank<3>>           fixed rank, run-time extents: what performance code uses
//   MDArray<double, Device, 3, 8>              left-most extent at run time, the others fixed (section 4.2)
//
// The layout is the device's preferred one; MDArrayIn<Layout, ...> chooses another. Arrays are made by
// `create` (views/create.hpp).
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

template <int R>
struct RankConstant {};

/// `rank<R>` in place of extents: R of them, known at run time.
template <int R>
inline constexpr RankConstant<R> rank{};

namespace detail {

template <class>
inline constexpr int rank_of = -1;
template <int R>
inline constexpr int rank_of<RankConstant<R>> = R;

template <auto... N>
struct ExtentsFrom {
  using type = Extents<dynamic, static_cast<index_t>(N)...>;
};
template <>
struct ExtentsFrom<> {
  using type = DynamicRank<max_rank>;
};
template <auto N>
requires(rank_of<std::remove_const_t<decltype(N)>> >= 0) struct ExtentsFrom<N> {
  using type = RankExtents<rank_of<std::remove_const_t<decltype(N)>>>;
};

}  // namespace detail

/// An array of `T` on `Device`; `N` as at the head of this file.
template <class T, class Device, auto... N>
using MDArray =
    View<T, Device, typename detail::ExtentsFrom<N...>::type, typename Device::layout, DefaultAccess>;

/// The same with a layout of one's own.
template <class Layout, class T, class Device, auto... N>
using MDArrayIn = View<T, Device, typename detail::ExtentsFrom<N...>::type, Layout, DefaultAccess>;

}  // namespace strata::inline STRATA_ABI
