// subview: a view of part of an array, of any rank, sharing its ownership.
//
//   subview(x, everything, 3)              column 3: rank 1
//   subview(x, range(2, 5), everything)    rows 2, 3, 4
//   subview(x, 7, everything, range(0, 3))
//
// An index drops its dimension, a range or `everything` keeps it. Kept dimensions count from 0; under
// `everything` those of an offset view begin where they did. The result
// keeps the layout of the array where its strides allow (rows of right, columns of left), has LayoutTiledPart
// where it keeps the left-most dimension of a tiled array, and LayoutStrided elsewhere. Extents fixed at
// compile time stay so under `everything`. Callable on hosts and in kernels.
//
// Checked builds check the bounds, and that the rows asked for by number are resident. On the host a bad part
// throws LayoutError; in a kernel it is logged like a bad access (see core/check.hpp), and so are all
// accesses to the part, which is a null view.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/core/layout_left.hpp>
#include <strata/core/layout_offset.hpp>
#include <strata/core/layout_right.hpp>
#include <strata/core/layout_strided.hpp>
#include <strata/core/layout_tiled.hpp>
#include <strata/core/range.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

enum class Part { Index, Range, Everything };

template <class A>
constexpr Part part_of() {
  if constexpr (std::is_same_v<A, Everything>) return Part::Everything;
  else if constexpr (std::is_same_v<A, Range>) return Part::Range;
  else return Part::Index;
}

template <class L>
inline constexpr bool is_right_v = false;
template <>
inline constexpr bool is_right_v<LayoutRight> = true;
template <class L>
inline constexpr bool is_left_v = false;
template <>
inline constexpr bool is_left_v<LayoutLeft> = true;
template <class L>
inline constexpr int tile_of = 0;
template <int W>
inline constexpr int tile_of<LayoutTiled<W>> = W;
template <int W>
inline constexpr int tile_of<LayoutTiledPart<W>> = W;

// The layout whose strides and tiles a layout has: index ranges and the width of indices do not change them.
template <class L>
struct PlainLayout {
  using type = L;
};
template <class L>
struct PlainLayout<LayoutOffset<L>> : PlainLayout<L> {};
template <class L>
struct PlainLayout<Index32<L>> : PlainLayout<L> {};

// Whether a layout is over ranges of indices that begin anywhere.
template <class L>
inline constexpr bool is_offset_v = false;
template <class L>
inline constexpr bool is_offset_v<LayoutOffset<L>> = true;

// Right keeps its form when indices come first, then at most two ranges, then only `everything`: the second
// kept dimension may shrink because rows are a leading stride apart.
constexpr bool keeps_right(const Part* part, int rank) {
  int kept = 0;
  for (int r = 0; r < rank; ++r) {
    if (part[r] == Part::Index && kept > 0) return false;
    if (part[r] != Part::Index) ++kept;
    if (part[r] == Part::Range && kept > 2) return false;
  }
  return true;
}

// Left keeps its form when dimension 0 is kept, the following ones entirely but for the last kept, and
// indices come last.
constexpr bool keeps_left(const Part* part, int rank) {
  int kept = 0;
  while (kept < rank && part[kept] != Part::Index) ++kept;
  for (int r = kept; r < rank; ++r)
    if (part[r] != Part::Index) return false;
  for (int r = 1; r + 1 < kept; ++r)
    if (part[r] == Part::Range) return false;
  return kept > 0 || rank == 0;
}

template <class Layout, class... A>
constexpr auto subview_layout() {
  constexpr Part part[] = {part_of<A>()..., Part::Everything};
  constexpr int rank = sizeof...(A);
  if constexpr (is_right_v<Layout> && keeps_right(part, rank)) return LayoutRight();
  else if constexpr (is_left_v<Layout> && keeps_left(part, rank)) return LayoutLeft();
  else if constexpr (tile_of<Layout> > 0 && part[0] != Part::Index) return LayoutTiledPart<tile_of<Layout>>();
  else return LayoutStrided();
}

// The extents of the kept dimensions; those under `everything` stay fixed at compile time.
template <class E, class... A>
struct SubExtents {
  static constexpr Part part[sizeof...(A) + 1] = {part_of<A>()...,
                                                  Part::Everything};  // clang 14 needs the bound
  static constexpr int kept = ((part_of<A>() != Part::Index) + ... + 0);

  static constexpr index_t static_extent(int k) {
    int at = 0;
    for (int r = 0; r < static_cast<int>(sizeof...(A)); ++r) {
      if (part[r] == Part::Index) continue;
      if (at++ == k) return part[r] == Part::Everything ? E::static_extent(r) : dynamic;
    }
    return dynamic;
  }
  template <std::size_t... K>
  static Extents<static_extent(static_cast<int>(K))...> make(std::index_sequence<K...>);
  using type = decltype(make(std::make_index_sequence<kept>()));
};

// First index and number of indices of one argument.
template <class A>
STRATA_FUNCTION constexpr Range bounds_of(const A& argument, index_t begin, index_t extent) {
  if constexpr (std::is_same_v<A, Everything>) return {begin, begin + extent};
  else if constexpr (std::is_same_v<A, Range>)
    return {argument.first, argument.last > argument.first ? argument.last : argument.first};
  else return {static_cast<index_t>(argument), static_cast<index_t>(argument) + 1};
}

// Of checked builds. Reports a part [bounds.first, bounds.last) of dimension r that does not exist; of too
// few or many arguments where r is the rank or more.
template <class V>
STRATA_FUNCTION constexpr void report_bad_part([[maybe_unused]] const V& view,
                                               [[maybe_unused]] const Range* bounds,
                                               [[maybe_unused]] int count, [[maybe_unused]] int r) {
#if !defined(__CUDA_ARCH__)
  if (current_check == nullptr) {
    if (count != view.rank()) fail_rank(view.rank(), count, "subview: one argument for each dimension");
    throw_part(view.label(), r, bounds[r].first, bounds[r].last, view.begin(r), view.end(r));
  }
#endif
  BadAccess found;
  found.data = view.data();
  found.count = count;
  found.rank = view.rank();
  for (int q = 0; q < count; ++q)  // the end of a range that is at fault where it is the end
    found.index[q] = bounds[q].last > view.end(q) && bounds[q].first >= view.begin(q) ? bounds[q].last - 1
                                                                                      : bounds[q].first;
  for (int q = 0; q < view.rank(); ++q) {
    found.begin[q] = view.begin(q);
    found.end[q] = view.end(q);
  }
  found.resident_begin = view.rank() > 0 ? view.begin(0) : 0;
  found.resident_end = view.rank() > 0 ? view.end(0) : 0;
  if constexpr (requires { view.mapping().resident(); })
    if (view.rank() > 0) {
      found.resident_begin = view.mapping().resident().begin;
      found.resident_end = view.mapping().resident().end;
    }
#if defined(__CUDA_ARCH__)
  report_bad_access_on_device(found);
#else
  report_bad_access(found);
#endif
}

// Whether the parts that `bounds` select exist; reports where they do not. `by_number`: rows were not asked
// for by `everything`.
template <class V>
STRATA_FUNCTION constexpr bool parts_exist(const V& view, const Range* bounds, int count,
                                           [[maybe_unused]] bool by_number) {
  int bad = count == view.rank() ? -1 : count;
  for (int r = 0; r < count && bad < 0; ++r)
    if (bounds[r].first < view.begin(r) || bounds[r].last > view.end(r)) bad = r;
  if constexpr (requires { view.mapping().resident(); }) {
    if (bad < 0 && count > 0 && by_number && bounds[0].size() > 0) {
      const ResidentRows rows = view.mapping().resident();
      if (bounds[0].first < rows.begin || bounds[0].last > rows.end) bad = 0;
    }
  }
  if (bad >= 0) report_bad_part(view, bounds, count, bad);
  return bad < 0;
}

// The layout and the mapping of a part: of an offset view, dimensions under `everything` keep their begins.
template <class Plain, bool KeepsBegins>
struct PartLayout {
  using type = Plain;
  template <class M>
  STRATA_FUNCTION static constexpr const M& mapping(const M& plain, const index_t*) {
    return plain;
  }
};
template <class Plain>
struct PartLayout<Plain, true> {
  using type = LayoutOffset<Plain>;
  template <class M>
  STRATA_FUNCTION static constexpr auto mapping(const M& plain, const index_t* begins) {
    return OffsetMapping<M, typename M::extents_type>(plain, begins);
  }
};

template <class M>
concept Described = requires(const M& m) {
  m.describe();
};

}  // namespace detail

/// The part of `view` that `arguments`, one for each dimension, select. By value: in device code the constant
/// `everything` has no address.
template <class T, class D, class E, class L, class A, class... Arguments>
STRATA_FUNCTION constexpr auto subview(const View<T, D, E, L, A>& view, Arguments... arguments) {
  using M = typename View<T, D, E, L, A>::mapping_type;
  constexpr int count = sizeof...(Arguments);
  [[maybe_unused]] constexpr int room = (E::has_dynamic_rank ? max_rank : count) + 1;
  if constexpr (!E::has_dynamic_rank)
    static_assert(count == E::rank(),
                  "strata: a subview needs one argument (index, range or everything) for each dimension: you "
                  "wrote more or fewer; write "
                  "subview(x, everything, 0) for a view of rank 2");
  else
    static_assert(count <= E::max_rank_value,
                  "strata: a subview has more arguments than this view can have dimensions");
  static_assert(detail::Described<M>, "strata: subviews need a layout that describes its strides");
  static_assert(
      ((IndexLike<Arguments> || std::is_same_v<Arguments, Range> ||
        std::is_same_v<Arguments, Everything>)&&...),
      "strata: the arguments of a subview are indices, ranges or everything: you wrote another type, such as "
      "a std::pair; write subview(x, range(2, 5))");

  using Plain = typename detail::PlainLayout<L>::type;
  using NewLayout = decltype(detail::subview_layout<Plain, Arguments...>());
  using NewExtents = typename detail::SubExtents<E, Arguments...>::type;
  using NewMapping = typename NewLayout::template mapping<NewExtents>;
  using WithBegins =
      detail::PartLayout<NewLayout, detail::is_offset_v<L> && (std::is_same_v<Arguments, Everything> || ...)>;
  using Result = View<T, D, NewExtents, typename WithBegins::type, A>;

  const LayoutDescriptor d = view.mapping().describe();
  index_t extent[room] = {}, stride[room] = {}, from_zero[room] = {}, begin[room] = {};
  [[maybe_unused]] Range selected[room] = {};
  int r = 0, kept = 0;
  [[maybe_unused]] const auto take = [&](const auto& argument) {
    const Range bounds = detail::bounds_of(argument, view.begin(r), view.extent(r));
    selected[r] = bounds;
    from_zero[r] = bounds.first - view.begin(r);
    if constexpr (detail::part_of<std::remove_cvref_t<decltype(argument)>>() != detail::Part::Index) {
      extent[kept] = bounds.last - bounds.first;
      stride[kept] = d.stride[r];
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(argument)>, Everything>)
        begin[kept] = view.begin(r);
      ++kept;
    }
    ++r;
  };
  (take(arguments), ...);
  const NewExtents extents(extent, detail::SubExtents<E, Arguments...>::kept);
  if constexpr (checked_build) {
    constexpr detail::Part part[] = {detail::part_of<Arguments>()..., detail::Part::Everything};
    if (!detail::parts_exist(view, selected, count, part[0] != detail::Part::Everything)) return Result();
  }
  if (E::has_dynamic_rank && count != view.rank())
    detail::fail_rank(view.rank(), count, "subview: one argument for each dimension");
  T* const data = view.data() + detail::offset_of(d, from_zero);
  const auto part_of_view = [&](const NewMapping& mapping) {
    Result part(view.allocation(), data, WithBegins::mapping(mapping, begin));
    part.set_ticket(view.ticket_of_use());
    return part;
  };
  if constexpr ((detail::tile_of<Plain>) > 0 &&
                std::is_same_v<NewLayout, LayoutTiledPart<detail::tile_of<Plain>>>) {
    const index_t phase = (from_zero[0] + d.phase) & (detail::tile_of<Plain> - 1);
    return part_of_view(NewMapping(extents, d.tile_stride, stride, phase, -phase));
  } else if constexpr (std::is_same_v<NewLayout, LayoutStrided>) {
    // Fixing the index of a tiled dimension leaves strides only.
    return part_of_view(NewMapping(extents, stride));
  } else {
    constexpr bool left = std::is_same_v<NewLayout, LayoutLeft>;
    const index_t leading = left ? stride[1] : stride[0];
    const ResidentRows rows{0, extents.rank() > 0 ? extents.extent(0) : 1};
    return part_of_view(NewMapping(extents, rows, extents.rank() > 1 ? leading : 0));
  }
}

}  // namespace strata::inline STRATA_ABI
