// mdspan: conversion between views and mdspans, both ways, for any implementation of mdspan: the standard
// library's where there is one, CUDA's cuda::std::mdspan, or the reference implementation. This header
// includes none of them.
//
//   auto v = from_mdspan<Serial>(m);                                       // an unmanaged view
//   auto s = to_mdspan<std::mdspan<double, std::dextents<int, 2>>>(x);     // the type that a library wants
//   auto t = to_mdspan<std::mdspan, std::extents, std::layout_stride>(x);  // keeps static extents
//
// Lifetime: neither owns the memory, nor is counted; something else has to keep it alive.
//
// Where: an mdspan holds an address that the thread which makes it can use. Make one on the host of memory
// that the host can touch; of a device's memory make it inside the kernel that uses it. An mdspan counts from
// 0: element 0 of one made of an offset view is the view's first, and of a slice the array's row 0, which
// need not be resident. Checked builds check no access through an mdspan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <strata/core/layout_left.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/core/layout_strided.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// Every implementation's extents are E<IndexType, sizes...> with the largest size_t for run-time extents.
template <class>
struct MdspanExtents;
template <template <class, std::size_t...> class E, class Index, std::size_t... N>
struct MdspanExtents<E<Index, N...>> {
  using type = Extents<(N == SIZE_MAX ? dynamic : static_cast<index_t>(N))...>;
  using probe = E<Index, 2, 3, 5>;
};

// Layouts are recognised by their strides for a small shape, not by name: every implementation has its own.
// One that need not be exhaustive (layout_stride, padded ones) has strides that are known at run time only.
template <class Mapping>
constexpr bool mdspan_layout_has_strides(index_t s0, index_t s1, index_t s2) {
  if constexpr (Mapping::is_always_exhaustive() && Mapping::is_always_strided()) {
    const Mapping m{};
    return static_cast<index_t>(m.stride(0)) == s0 && static_cast<index_t>(m.stride(1)) == s1 &&
           static_cast<index_t>(m.stride(2)) == s2;
  }
  return false;
}

template <class M>
constexpr auto layout_of_mdspan() {
  using Probe = typename MdspanExtents<typename M::extents_type>::probe;  // 2 x 3 x 5
  using Mapping = typename M::layout_type::template mapping<Probe>;
  if constexpr (mdspan_layout_has_strides<Mapping>(15, 5, 1)) return LayoutRight();
  else if constexpr (mdspan_layout_has_strides<Mapping>(1, 2, 6)) return LayoutLeft();
  else return LayoutStrided();
}

template <class M>
STRATA_FUNCTION constexpr void check_mdspan_strides(const M& m) {
  if (!m.is_strided())
    fail_layout("from_mdspan: the layout of this mdspan has no strides (rank, span)",
                static_cast<index_t>(M::rank()), static_cast<index_t>(m.mapping().required_span_size()));
}

}  // namespace detail

/// What conversions need of an mdspan type.
template <class M>
concept Mdspan = requires(const M& m) {
  typename M::element_type;
  typename M::layout_type;
  typename M::accessor_type;
  typename detail::MdspanExtents<typename M::extents_type>::type;
  m.data_handle();
  m.mapping();
};

/// An unmanaged view of the elements of `m`, which lie in the memory of `Device`. Static extents stay static.
/// The layout is LayoutRight or LayoutLeft where that follows from the type of the mdspan, LayoutStrided
/// otherwise. LayoutError where a layout has no strides. Accessors other than plain references are refused by
/// the compiler.
template <class Device, Mdspan M>
[[nodiscard]] STRATA_FUNCTION constexpr auto from_mdspan(const M& m) {
  using T = typename M::element_type;
  static_assert(std::is_same_v<typename M::accessor_type::data_handle_type, T*> &&
                    std::is_same_v<typename M::accessor_type::reference, T&>,
                "strata: from_mdspan: the accessor does more than dereference a pointer");
  static_assert(M::rank() <= max_rank, "strata: an array has at most 8 dimensions");
  using E = typename detail::MdspanExtents<typename M::extents_type>::type;
  using L = decltype(detail::layout_of_mdspan<M>());
  using Result = View<T, Device, E, L>;

  constexpr int rank = static_cast<int>(M::rank());
  index_t extent[rank + 1] = {};
  for (int r = 0; r < rank; ++r) extent[r] = static_cast<index_t>(m.extent(static_cast<std::size_t>(r)));
  const E extents(extent, rank);
  if constexpr (std::is_same_v<L, LayoutStrided>) {
    detail::check_mdspan_strides(m);
    index_t stride[rank + 1] = {};
    if constexpr (rank > 0)
      for (int r = 0; r < rank; ++r) stride[r] = static_cast<index_t>(m.stride(static_cast<std::size_t>(r)));
    return Result(m.data_handle(), typename Result::mapping_type(extents, stride));
  } else {
    return Result(m.data_handle(), typename Result::mapping_type(extents));
  }
}

namespace detail {

template <class E, class V, std::size_t... R>
STRATA_FUNCTION constexpr E mdspan_extents([[maybe_unused]] const V& view, std::index_sequence<R...>) {
  using Index = typename E::index_type;
  for (int r = 0; r < view.rank(); ++r) {
    const auto fixed = E::static_extent(static_cast<std::size_t>(r));
    if (fixed != SIZE_MAX && static_cast<index_t>(fixed) != view.extent(r))
      fail_extent(r, view.extent(r), "to_mdspan: the extent of the mdspan's type is another");
  }
  if (!std::in_range<Index>(view.mapping().required_span_size())) {
    const index_t span[] = {view.mapping().required_span_size()};
    fail_extents_overflow(span, 1, "the index type of the mdspan");
  }
  return E(static_cast<Index>(view.extent(static_cast<int>(R)))...);
}

// With the view's strides where the mapping takes strides, else as the layout says.
template <class Mapping, class V>
STRATA_FUNCTION constexpr Mapping mdspan_mapping(const V& view,
                                                 const typename Mapping::extents_type& extents) {
  constexpr int rank = static_cast<int>(Mapping::extents_type::rank());
  if constexpr (requires(const Mapping& m) { Mapping(extents, m.strides()); }) {
    using Strides = std::remove_cvref_t<decltype(std::declval<const Mapping&>().strides())>;
    Strides strides{};
    if constexpr (rank > 0)
      for (int r = 0; r < rank; ++r)
        strides[static_cast<std::size_t>(r)] = static_cast<typename Mapping::index_type>(view.stride(r));
    return Mapping(extents, strides);
  } else {
    const Mapping mapping(extents);
    if constexpr (rank > 0)
      for (int r = 0; r < rank; ++r)
        // The stride of an extent of 0 or 1 is never used.
        if (view.extent(r) > 1 && view.size() > 0 &&
            static_cast<index_t>(mapping.stride(static_cast<std::size_t>(r))) != view.stride(r))
          fail_layout(
              "to_mdspan: the layout of the mdspan has another stride than the view; use layout_stride "
              "(dimension, the view's stride)",
              r, view.stride(r));
    return mapping;
  }
}

}  // namespace detail

/// The mdspan of type `M` of the elements of `view`. ExtentError where the rank or a static extent is another
/// or the index type of `M` is too small; LayoutError where the layout of `M` does not have the strides of
/// the view. Tiled and user-supplied layouts and atomic access are refused by the compiler.
template <Mdspan M, AnyView V>
[[nodiscard]] STRATA_FUNCTION constexpr M to_mdspan(const V& view) {
  using E = typename V::extents_type;
  constexpr int rank = static_cast<int>(M::rank());
  static_assert(
      requires { view.stride(0); }, "strata: to_mdspan: the layout of the view has no strides");
  static_assert(std::is_convertible_v<typename V::element_type(*)[], typename M::element_type(*)[]>,
                "strata: to_mdspan: the element types differ");
  static_assert(!std::is_same_v<typename V::unmanaged_type::access_type, Unmanaged<AtomicAccess>>,
                "strata: to_mdspan: an mdspan would not access the elements atomically");
  if constexpr (!E::has_dynamic_rank)
    static_assert(E::max_rank_value == rank, "strata: to_mdspan: the ranks differ");
  else if (view.rank() != rank) detail::fail_rank(view.rank(), rank, "to_mdspan");

  const auto extents = detail::mdspan_extents<typename M::extents_type>(
      view, std::make_index_sequence<static_cast<std::size_t>(rank)>());
  const auto mapping = detail::mdspan_mapping<typename M::mapping_type>(view, extents);
  if (!view) return M(nullptr, mapping);
  index_t first = view.mapping().shift();
  for (int r = 0; r < rank; ++r) first += view.begin(r) * view.stride(r);
  return M(V::memory_space::resolve(view.data()) + first, mapping);
}

namespace detail {

template <template <class...> class M, template <class, std::size_t...> class E, class L, class T, class>
struct MdspanFor;
template <template <class...> class M, template <class, std::size_t...> class E, class L, class T,
          index_t... N>
struct MdspanFor<M, E, L, T, Extents<N...>> {
  using type = M<T, E<index_t, (N == dynamic ? SIZE_MAX : static_cast<std::size_t>(N))...>, L>;
};

}  // namespace detail

/// The mdspan of an implementation, given by its templates, with the element type and extents of `view`; as
/// above otherwise.
template <template <class...> class MdspanTemplate, template <class, std::size_t...> class ExtentsTemplate,
          class Layout, AnyView V>
[[nodiscard]] STRATA_FUNCTION constexpr auto to_mdspan(const V& view) {
  static_assert(
      !V::extents_type::has_dynamic_rank,
      "strata: to_mdspan: the rank of the view is known at run time only; name the type of the mdspan");
  return to_mdspan<typename detail::MdspanFor<MdspanTemplate, ExtentsTemplate, Layout,
                                              typename V::element_type, typename V::extents_type>::type>(
      view);
}

}  // namespace strata::inline STRATA_ABI
