// MDArray: the Kokkos Array paper's multidimensional array (section 3.1), in three spellings:
//
//   MDArray<double, Device>                    rank at run time, at most 8
//   MDArray<double, Device, rank<3>>           fixed rank, run-time extents: what performance code uses
//   MDArray<double, Device, 3, 8>              left-most extent at run time, the others fixed (section 4.2):
//                                              n x 3 x 8; a single 1 does not compile, as a rank is meant
//
// The layout is the device's preferred one; MDArrayIn<Layout, ...> chooses another. Arrays are made by
// `create` (views/create.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout_left.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// Numbers too small to be extents stand for ranks: a constant of a class type would be nicer, but nvcc 13.0
// loses partial specialisations on such template arguments.
inline constexpr index_t rank_code = -1000;

template <index_t... N>
struct ExtentsFrom {
  using type = Extents<dynamic, N...>;
};
template <>
struct ExtentsFrom<> {
  using type = DynamicRank<max_rank>;
};
template <index_t N>
struct ExtentsFrom<N> {
  static_assert(
      N != 1,
      "strata: MDArray<T, Device, 1> would be an array of n x 1 elements: you wrote 1 for the rank; "
      "write MDArray<T, Device, rank<1>>, or rank<2> and an extent of 1");
  using type =
      typename std::conditional_t<(N <= rank_code), DynamicExtentsOf<(N <= rank_code ? rank_code - N : 0)>,
                                  DynamicExtentsOf<1, (N > rank_code ? N : 0)>>::type;
};

}  // namespace detail

/// `rank<R>` in place of extents: R of them, known at run time.
template <int R>
inline constexpr index_t rank = detail::rank_code - R;

/// An array of `T` on `Device`; `N` as at the head of this file.
template <class T, class Device, index_t... N>
using MDArray =
    View<T, Device, typename detail::ExtentsFrom<N...>::type, typename Device::layout, DefaultAccess>;

/// The same with a layout of one's own.
template <class Layout, class T, class Device, index_t... N>
using MDArrayIn = View<T, Device, typename detail::ExtentsFrom<N...>::type, Layout, DefaultAccess>;

}  // namespace strata::inline STRATA_ABI
