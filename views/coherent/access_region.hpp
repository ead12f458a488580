// Regions: which part of an array a work item of a launch touches, as seen from its left-most index i.
//
//   in(x)                 own: row i (the left-most index of the array)
//   in(x, halo(1, 1))     rows i-1 to i+1; what lies outside of the array the kernel does not touch, or sees
//                         as halo(1, 1, edge::cyclic), edge::duplicate or edge::pad(value) say
//   in(x, rows(f))        the rows f(work), for work items [work.begin, work.end)
//   in(a, columns)        column i (index 1); columns(1, 1): with its neighbours
//   in(x, everything)     all of the array
//   in(x, fixed(box))     a box, whichever work items
//
// A device that runs a part of the work needs the regions of its work items.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/core/box.hpp>
#include <strata/core/layout.hpp>
#include <strata/core/range.hpp>

namespace strata::inline STRATA_ABI {

/// The row of the work item.
struct Own {};
/// The region where none is given.
inline constexpr Own own{};

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
/// Throws ShapeMismatch: `name`(left, right) is no region.
[[noreturn]] void fail_neighbours(const char* name, index_t left, index_t right);
/// More than an array has rows; sums of two numbers up to this do not overflow.
inline constexpr index_t most_neighbours = index_t{1} << 47;
constexpr void check_neighbours(const char* name, index_t left, index_t right) {
  if (left < 0 || right < 0 || left > most_neighbours || right > most_neighbours)
    fail_neighbours(name, left, right);
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
    for (const Box& box : more) f(box);
  }
};

/// Whether they have an index in common.
bool overlap(const ArrayPart& a, const ArrayPart& b);

/// Indices [begin, end) of dimension `d`, as far as the domain has them. A domain of rank 0 is one point,
/// which every work item touches.
ArrayPart part_of_rows(const Box& domain, int d, index_t begin, index_t end);
/// The same where rows outside of the array are those of its other end.
ArrayPart cyclic_part_of_rows(const Box& domain, index_t begin, index_t end);
/// Throws ShapeMismatch where `box` is not one of the array.
ArrayPart part_of_box(const Box& domain, const Box& box, const char* label);

/// The smallest run of rows that contains both.
ResidentRows cover(ResidentRows a, ResidentRows b);
/// Work items [begin, end) with those before and after, as far as there are such numbers.
ResidentRows with_neighbours(ResidentRows work, index_t left, index_t right);
/// Throws ShapeMismatch where index arithmetic at the edges would miss the array.
void check_edges(const Box& domain, index_t left, index_t right, bool is_cyclic, const char* label);
/// Throws ShapeMismatch where the end is before the begin.
void check_rows(ResidentRows rows, ResidentRows work, const char* label);

inline ArrayPart part_of(Own, const Box& domain, ResidentRows work, const char*) {
  return part_of_rows(domain, 0, work.begin, work.end);
}
template <class Edge>
ArrayPart part_of(const Halo<Edge>& h, const Box& domain, ResidentRows work, const char* label) {
  constexpr bool is_cyclic = std::is_same_v<Edge, edge::Cyclic>;
  check_neighbours("halo", h.left, h.right);
  if constexpr (is_cyclic || std::is_same_v<Edge, edge::Duplicate>)
    if (work.begin < work.end) check_edges(domain, h.left, h.right, is_cyclic, label);
  const ResidentRows wanted = with_neighbours(work, h.left, h.right);
  if constexpr (is_cyclic) return cyclic_part_of_rows(domain, wanted.begin, wanted.end);
  else return part_of_rows(domain, 0, wanted.begin, wanted.end);
}
template <class F>
ArrayPart part_of(const Rows<F>& r, const Box& domain, ResidentRows work, const char* label) {
  if (work.begin >= work.end) return part_of_rows(domain, 0, 0, 0);
  const ResidentRows wanted = r.f(work);
  check_rows(wanted, work, label);
  return part_of_rows(domain, 0, wanted.begin, wanted.end);
}
inline ArrayPart part_of(Columns c, const Box& domain, ResidentRows work, const char*) {
  check_neighbours("columns", c.left, c.right);
  const ResidentRows wanted = with_neighbours(work, c.left, c.right);
  return part_of_rows(domain, 1, wanted.begin, wanted.end);
}
inline ArrayPart part_of(Everything, const Box& domain, ResidentRows, const char*) { return {domain, {}}; }
inline ArrayPart part_of(const Fixed& f, const Box& domain, ResidentRows, const char* label) {
  return part_of_box(domain, f.box, label);
}

}  // namespace detail

/// A type that says which part of an array a work item touches.
template <class R>
concept AccessRegion = requires(const R& region, const Box& domain, ResidentRows work) {
  { detail::part_of(region, domain, work, "") } -> std::same_as<detail::ArrayPart>;
};

}  // namespace strata::inline STRATA_ABI
