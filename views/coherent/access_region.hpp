// Regions: which part of an array a work item of a launch touches, as seen from its left-most index i.
//
//   in(x)                 own: row i (the left-most index of the array)
//   in(x, own_element)    in a grid of parts (algorithms/grid/grid.hpp) its element, elsewhere row i
//   in(x, halo(1, 1))     rows i-1 to i+1; what lies outside of the array the kernel does not touch, or sees
//                         as halo(1, 1, edge::cyclic), edge::duplicate or edge::pad(value) say
//   in(x, halo({1, 2}, {1, 2}))   in a grid of parts rows i-1 to i+1 of columns j-2 to j+2, elsewhere all
//                                 columns
//   in(x, rows(f))        the rows f(work), for work items [work.begin, work.end)
//   in(a, columns)        column i (index 1); columns(1, 1): with its neighbours
//   in(x, everything)     all of the array
//   in(x, fixed(box))     a box, whichever work items
//
// A device that runs a part of the work needs the regions of its work items.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <vector>

#include <strata/core/box.hpp>
#include <strata/core/layout.hpp>
#include <strata/core/range.hpp>

namespace strata::inline STRATA_ABI {

/// The row of the work item.
struct Own {};
/// The region where none is given.
inline constexpr Own own{};

/// The element of the work item; more than one where the array has more dimensions than are cut.
struct OwnElement {};
/// In a grid of parts, the elements that have the work item's indices in all dimensions that are cut;
/// elsewhere its row.
inline constexpr OwnElement own_element{};

/// What a kernel reads outside of an array.
namespace edge {
/// Nothing: it must not read there.
struct None {};
/// The other end: index -1 is the last one.
struct Cyclic {};
/// The nearest element.
struct Duplicate {};
/// A value.
template <class T>
struct Pad {
  T value;  ///< of every element outside
};
/// As arguments of halo().
inline constexpr None none{};
inline constexpr Cyclic cyclic{};        ///< the other end
inline constexpr Duplicate duplicate{};  ///< the nearest element
/// Everything outside is `value`.
template <class T>
constexpr Pad<T> pad(const T& value) {
  return {value};
}
}  // namespace edge

namespace detail {
/// Neighbours in one dimension.
struct Neighbours {
  index_t left, right;
};
/// Throws ShapeMismatch: `name`(left, right), or halo({left...}, {right...}) because of dimension `d`, is no
/// region.
[[noreturn]] void fail_neighbours(const char* name, index_t left, index_t right);
[[noreturn]] void fail_neighbours(const Neighbours* halo, int dimensions, int d);
/// More than an array has rows; sums of two numbers up to this do not overflow.
inline constexpr index_t most_neighbours = index_t{1} << 47;
constexpr bool are_neighbours(index_t left, index_t right) {
  return left >= 0 && right >= 0 && left <= most_neighbours && right <= most_neighbours;
}
constexpr void check_neighbours(const char* name, index_t left, index_t right) {
  if (!are_neighbours(left, right)) fail_neighbours(name, left, right);
}
constexpr void check_neighbours(const Neighbours* halo, int dimensions) {
  for (int d = 0; d < dimensions; ++d)
    if (!are_neighbours(halo[d].left, halo[d].right)) fail_neighbours(halo, dimensions, d);
}
}  // namespace detail

/// Rows i - left to i + right.
template <class Edge = edge::None>
struct Halo {
  index_t left;   ///< rows before
  index_t right;  ///< rows after
  Edge edge;      ///< what lies outside of the array, in all its dimensions
};
/// The row of a work item, `left` rows before it and `right` after it, as far as the array has them.
/// ShapeMismatch where a number is negative, or above 2^47.
constexpr Halo<> halo(index_t left, index_t right) {
  detail::check_neighbours("halo", left, right);
  return {left, right, {}};
}
/// The same, with values outside of the array. The launch throws ShapeMismatch for edge::cyclic with more
/// rows than the array has, and for edge::cyclic or edge::duplicate of an empty array.
template <class Edge>
constexpr Halo<Edge> halo(index_t left, index_t right, const Edge& at_edges) {
  detail::check_neighbours("halo", left, right);
  return {left, right, at_edges};
}

/// The same in `Rank` dimensions, of which the base has the first.
template <int Rank, class Edge = edge::None>
struct BoxHalo : Halo<Edge> {
  index_t before[Rank - 1];  ///< indices before, of the second dimension and those after it
  index_t after[Rank - 1];   ///< and after
};
namespace detail {
template <int Rank, class Edge>
constexpr BoxHalo<Rank, Edge> box_halo(const index_t (&left)[Rank], const index_t (&right)[Rank],
                                       const Edge& at_edges) {
  BoxHalo<Rank, Edge> halo{{left[0], right[0], at_edges}, {}, {}};
  Neighbours all[Rank] = {};
  for (int d = 0; d < Rank; ++d) all[d] = {left[d], right[d]};
  check_neighbours(all, Rank);
  for (int d = 1; d < Rank; ++d) {
    halo.before[d - 1] = left[d];
    halo.after[d - 1] = right[d];
  }
  return halo;
}
}  // namespace detail
/// halo({l0, l1}, {r0, r1}): in a grid of parts, the box from i - l0 to i + r0 and from j - l1 to j + r1,
/// with its corners; elsewhere rows i - l0 to i + r0. Dimensions that it does not name are taken as a whole.
/// ShapeMismatch as of halo(left, right), and where the array has fewer dimensions.
template <int Rank>
requires(Rank > 1) constexpr BoxHalo<Rank> halo(const index_t (&left)[Rank], const index_t (&right)[Rank]) {
  return detail::box_halo(left, right, edge::none);
}
/// The same, with values outside of the array in all its dimensions.
template <int Rank, class Edge>
requires(Rank > 1) constexpr BoxHalo<Rank, Edge> halo(const index_t (&left)[Rank],
                                                      const index_t (&right)[Rank], const Edge& at_edges) {
  return detail::box_halo(left, right, at_edges);
}

/// The rows f(work) of the work items `work`, a ResidentRows each.
template <class F>
struct Rows {
  F f;  ///< from work items to rows
};
/// The rows f(work), a ResidentRows, of the work items `work`, a ResidentRows with one item at least. What
/// lies outside of the array is left out. Where the end is before the begin, the launch throws ShapeMismatch.
template <class F>
constexpr Rows<F> rows(const F& f) {
  return {f};
}

/// Column i, index 1 of the array, and as many before and after.
struct Columns {
  index_t left = 0;   ///< columns before
  index_t right = 0;  ///< columns after
  /// With neighbours.
  constexpr Columns operator()(index_t before, index_t after) const {
    detail::check_neighbours("columns", before, after);
    return {before, after};
  }
};
/// The column of a work item; columns(1, 1) with its neighbours.
inline constexpr Columns columns{};

/// A box of the array, the same for all work items.
struct Fixed {
  Box box;  ///< in the array
};
/// `box`, for all work items.
inline Fixed fixed(const Box& box) { return {box}; }

namespace detail {

/// Whether few work items of a range touch the same element: each what is its own, and some neighbours.
template <class Region>
constexpr bool is_by_items(const Region& region) {
  constexpr index_t some = 8;
  if constexpr (std::is_same_v<Region, Own> || std::is_same_v<Region, OwnElement>) return true;
  else if constexpr (requires { region.left + region.right; }) return region.left + region.right <= some;
  else return false;
}

/// A part of an array: boxes that share no index. Nearly always one box.
struct ArrayPart {
  Box first;
  std::vector<Box> more;

  void add(const Box& box);
  bool empty() const { return first.empty(); }
  template <class F>
  void visit(const F& f) const {
    if (first.empty()) return;
    f(first);
    for (std::size_t k = 0; k < more.size(); ++k) f(more[k]);  // iterators take longer to compile
  }
};

/// Whether they have an index in common.
bool overlap(const ArrayPart& a, const ArrayPart& b);

/// Indices [begin, end) of dimension `d`, as far as the domain has them. A domain of rank 0 is one point,
/// which every work item touches.
ArrayPart part_of_rows(const Box& domain, int d, index_t begin, index_t end);
/// What is read for an index outside of an array: nothing, or something else than an element; the other end;
/// the nearest element.
enum class EdgeKind { None, Cyclic, Duplicate };
template <class Edge>
inline constexpr EdgeKind edge_kind = EdgeKind::None;
template <>
inline constexpr EdgeKind edge_kind<edge::Cyclic> = EdgeKind::Cyclic;
template <>
inline constexpr EdgeKind edge_kind<edge::Duplicate> = EdgeKind::Duplicate;
/// The box of the work items, which are [begin, end) in each of the first `cuts` dimensions, with their
/// neighbours in `dimensions`, and all of the other dimensions; nothing for no work items. There may be
/// neighbours in more dimensions than the work is cut in. Throws ShapeMismatch where these are no numbers of
/// neighbours of that array.
ArrayPart part_of_halo(const Box& domain, const ResidentRows* work, int cuts, const Neighbours* neighbours,
                       int dimensions, EdgeKind edges, const char* label);
/// The box of the work items alone, which are [begin, end) in each of the first `cuts` dimensions.
ArrayPart part_of_elements(const Box& domain, const ResidentRows* work, int cuts);
/// Throws ShapeMismatch, which says what was asked for, where `box` is not one of the array.
ArrayPart part_of_box(const Box& domain, const Box& box, const char* label,
                      const char* what = "a region that was declared");

/// The smallest run of rows that contains both.
ResidentRows cover(ResidentRows a, ResidentRows b);
/// Work items [begin, end) with those before and after, as far as there are such numbers.
ResidentRows with_neighbours(ResidentRows work, index_t left, index_t right);
/// Throws ShapeMismatch where index arithmetic at the edges would miss the array.
void check_edges(const Box& domain, index_t left, index_t right, bool is_cyclic, const char* label);
/// Throws ShapeMismatch where the end is before the begin.
void check_rows(ResidentRows rows, ResidentRows work, const char* label);

ArrayPart part_of(Own, const Box& domain, ResidentRows work, const char* label);
template <class Edge>
ArrayPart part_of(const Halo<Edge>& h, const Box& domain, ResidentRows work, const char* label) {
  const Neighbours rows{h.left, h.right};
  return part_of_halo(domain, &work, 1, &rows, 1, edge_kind<Edge>, label);
}
template <int Rank, class Edge>
ArrayPart part_of_cuts(const BoxHalo<Rank, Edge>& h, const Box& domain, const ResidentRows* work, int cuts,
                       const char* label) {
  Neighbours all[Rank] = {{h.left, h.right}};
  for (int d = 1; d < Rank; ++d) all[d] = {h.before[d - 1], h.after[d - 1]};
  return part_of_halo(domain, work, cuts, all, Rank, edge_kind<Edge>, label);
}
template <int Rank, class Edge>
ArrayPart part_of(const BoxHalo<Rank, Edge>& h, const Box& domain, ResidentRows work, const char* label) {
  return part_of_cuts(h, domain, &work, 1, label);
}
ArrayPart part_of(OwnElement, const Box& domain, ResidentRows work, const char* label);
template <class F>
ArrayPart part_of(const Rows<F>& r, const Box& domain, ResidentRows work, const char* label) {
  if (work.begin >= work.end) return part_of_rows(domain, 0, 0, 0);
  const ResidentRows wanted = r.f(work);
  check_rows(wanted, work, label);
  return part_of_rows(domain, 0, wanted.begin, wanted.end);
}
ArrayPart part_of(Columns c, const Box& domain, ResidentRows work, const char* label);
ArrayPart part_of(Everything, const Box& domain, ResidentRows work, const char* label);
ArrayPart part_of(const Fixed& f, const Box& domain, ResidentRows work, const char* label);

/// The part of an array for work items in a box: [begin, end) of each dimension in which the work is cut.
/// Regions that name rows are those of the first of these; boxes, also of the others, as far as they go.
/// `work` is a list of ResidentRows, of any type: std::span takes long to compile.
template <class Region, class Work>
ArrayPart part_of_items(const Region& region, const Box& domain, const Work& work, const char* label) {
  const ResidentRows* const rows = work.data();
  const int cuts = static_cast<int>(work.size());
  if constexpr (std::is_same_v<Region, OwnElement>) return part_of_elements(domain, rows, cuts);
  else if constexpr (requires { region.before; }) return part_of_cuts(region, domain, rows, cuts, label);
  else return part_of(region, domain, *rows, label);
}

}  // namespace detail

/// A type that says which part of an array a work item touches.
template <class R>
concept AccessRegion = requires(const R& region, const Box& domain, ResidentRows work) {
  { detail::part_of(region, domain, work, "") } -> std::same_as<detail::ArrayPart>;
};

}  // namespace strata::inline STRATA_ABI
