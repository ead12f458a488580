// map_overlap: map whose function reads the neighbours of an element, also across the edges of the array.
//
//   struct Mean {
//     template <class R>
//     STRATA_FUNCTION double operator()(const R& r) const {
//       return 0.25 * (r(-1, 0) + r(1, 0) + r(0, -1) + r(0, 1));
//     }
//   };
//   map_overlap(where, Mean{}, y, x, overlap({1, 1}, edge::duplicate));            // from x to y
//   map_overlap(where, Mean{}, x, overlap({1, 1}), Update::RedBlack);              // in place
//
// r(di, dj) is the element at (i + di, j + dj). Outside of the array its value is defined by the edge policy;
// without one (edge::none) only elements all of whose neighbours exist are computed, the others stay as they
// are. Further operands are those of map_array: f(r, b) of map_overlap(where, f, y, x, overlap(1), b). Arrays
// have rank 1 to 4. Several devices exchange the rows at their borders only.
//
// In place the new elements go to a second array first, so that elements which are updated together do not
// see each other's new values: red ones (of even i + j + ...) are computed from old elements, then black ones
// from old black and new red ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/skeletons/operands.hpp>
#include <strata/core/assert.hpp>

namespace strata::inline STRATA_ABI {
namespace skeletons {

/// How far a function reads around an element, and what it reads outside of the array; made by `overlap`.
template <int Rank, class Edge = edge::None>
struct Overlap {
  index_t reach[Rank];  ///< elements to each side, for each dimension
  Edge edge;            ///< outside of the array
};
/// overlap(1), overlap({1, 2}, edge::cyclic): elements to each side, for each dimension, and what lies
/// outside.
template <class Edge = edge::None>
constexpr Overlap<1, Edge> overlap(index_t reach, const Edge& at_edges = {}) {
  return {{reach}, at_edges};
}
template <int Rank, class Edge = edge::None>
constexpr Overlap<Rank, Edge> overlap(const index_t (&reach)[Rank], const Edge& at_edges = {}) {
  Overlap<Rank, Edge> result{{}, at_edges};
  for (int d = 0; d < Rank; ++d) result.reach[d] = reach[d];
  return result;
}

/// Which elements change in place: all at once, those of even or odd sum of indices, or the former and then
/// the latter.
enum class Update { Normal, Red, Black, RedBlack };

/// The elements around one: the argument of the function of map_overlap. `V` is a view, with edges.
template <class V, int Rank>
class Region {
 public:
  /// The element at `at` of `view`, and `reach[d]` elements before and after it in each dimension.
  STRATA_FUNCTION Region(const V& view, const index_t (&at)[Rank], const index_t (&reach)[Rank])
      : view_(&view) {
    for (int d = 0; d < Rank; ++d) {
      at_[d] = at[d];
      reach_[d] = reach[d];
    }
  }

  /// The element at these offsets. Offsets beyond the reach are undefined behaviour (checked builds:
  /// AssertionFailed).
  template <class... I>
  STRATA_FUNCTION typename V::value_type operator()(I... offsets) const {
    static_assert(sizeof...(I) == Rank, "strata: map_overlap: a region takes one offset a dimension");
    return at(std::make_index_sequence<Rank>(), static_cast<index_t>(offsets)...);
  }
  /// How far it reaches to each side.
  STRATA_FUNCTION index_t reach(int dimension) const { return reach_[dimension]; }

 private:
  template <std::size_t... D, class... I>
  STRATA_FUNCTION typename V::value_type at(std::index_sequence<D...>, I... offsets) const {
    [[maybe_unused]] const bool within_reach = (... && (offsets >= -reach_[D] && offsets <= reach_[D]));
    STRATA_ASSERT(within_reach, "map_overlap: the function reads further away than overlap(...) says");
    return (*view_)((at_[D] + offsets)...);
  }

  const V* view_;
  index_t at_[Rank], reach_[Rank];
};

/// Update in place with an array of the same type and shape to work in, so that none is made for each call.
template <class Array>
struct UpdateWith {
  Update update;  ///< which elements change
  Array scratch;  ///< its values are lost
};
template <class T, int Rank, class L>
UpdateWith<BasicCoherentArray<T, Rank, L>> with_scratch(Update update,
                                                        const BasicCoherentArray<T, Rank, L>& scratch) {
  return {update, scratch};
}

}  // namespace skeletons

namespace detail {

/// Throws ShapeMismatch: an overlap does not fit an array.
[[noreturn]] void fail_overlap(const char* label, int dimension, index_t reach, index_t extent);

template <int Rank, class Edge, class A>
void check_overlap(const skeletons::Overlap<Rank, Edge>& overlap, const A& x) {
  static_assert(Rank == A::rank,
                "strata: map_overlap: overlap(...) takes one number for each dimension of the array");
  static_assert(Rank >= 1 && Rank <= 4, "strata: map_overlap: arrays have rank 1 to 4");
  constexpr bool cyclic = std::is_same_v<Edge, edge::Cyclic>;  // once around at most
  for (int d = 0; d < Rank; ++d)
    if (overlap.reach[d] < 0 || (cyclic && x.size() > 0 && overlap.reach[d] > x.extent(d)))
      fail_overlap(x.label(), d, overlap.reach[d], x.extent(d));
}

// Calls a function with a region in place of its view.
template <class F, int Rank>
struct OverlapFunction {
  static constexpr bool wants_indices = true;
  F f;
  index_t reach[Rank];

  template <class... A>
  STRATA_FUNCTION auto operator()(const A&... all) const {
    return call(std::make_index_sequence<Rank>(), std::make_index_sequence<sizeof...(A) - Rank - 1>(),
                all...);
  }

 private:
  template <std::size_t... R, std::size_t... P, class... A>
  STRATA_FUNCTION auto call(std::index_sequence<R...>, std::index_sequence<P...>, const A&... all) const {
    const index_t at[] = {nth<R>(all...)...};
    const auto& view = nth<Rank>(all...);
    using Call = KernelCallOfView<decltype(view)>;
    const skeletons::Region<std::remove_cvref_t<decltype(view)>, Rank> region(view, at, reach);
    if constexpr (std::is_invocable_v<const F&, decltype(region), decltype(nth<Rank + 1 + P>(all...))...>)
      return Call::call(f, region, nth<Rank + 1 + P>(all...)...);
    else return Call::call(f, nth<R>(all...)..., region, nth<Rank + 1 + P>(all...)...);
  }
};
template <class F, int Rank, class Edge>
OverlapFunction<F, Rank> overlap_function(const F& f, const skeletons::Overlap<Rank, Edge>& overlap) {
  OverlapFunction<F, Rank> result{f, {}};
  for (int d = 0; d < Rank; ++d) result.reach[d] = overlap.reach[d];
  return result;
}

// Some elements are computed, the others stay.
template <class F, int Rank>
struct SelectiveOverlap {
  static constexpr bool wants_indices = true;
  OverlapFunction<F, Rank> function;
  index_t lower[Rank], upper[Rank];  // the indices that are computed
  int parity;                        // of the sum of indices; -1: any

  template <class... A>
  STRATA_FUNCTION auto operator()(const A&... all) const {
    return call(std::make_index_sequence<Rank>(), all...);
  }

 private:
  template <std::size_t... R, class... A>
  STRATA_FUNCTION auto call(std::index_sequence<R...>, const A&... all) const {
    using T = typename std::remove_cvref_t<decltype(nth<Rank>(all...))>::value_type;
    const bool inside = (... && (nth<R>(all...) >= lower[R] && nth<R>(all...) < upper[R]));
    const index_t sum = (... + nth<R>(all...));
    if (inside && (parity < 0 || sum % 2 == parity)) return static_cast<T>(function(all...));
    return static_cast<T>(nth<Rank>(all...)(nth<R>(all...)...));
  }
};
template <class F, int Rank, class Edge, class A>
SelectiveOverlap<F, Rank> select_overlap(const F& f, const skeletons::Overlap<Rank, Edge>& overlap,
                                         const A& x, int parity) {
  SelectiveOverlap<F, Rank> result{overlap_function(f, overlap), {}, {}, parity};
  for (int d = 0; d < Rank; ++d) {
    const index_t margin = std::is_same_v<Edge, edge::None> ? overlap.reach[d] : 0;
    result.lower[d] = margin;
    result.upper[d] = x.extent(d) - margin;
  }
  return result;
}

// What is read around an element.
template <int Rank, class Edge>
auto region_of(const skeletons::Overlap<Rank, Edge>& overlap) {
  if constexpr (Rank == 1) return halo(overlap.reach[0], overlap.reach[0], overlap.edge);
  else return halo(overlap.reach, overlap.reach, overlap.edge);
}

struct CopyElement {
  template <class T>
  STRATA_FUNCTION T operator()(const T& element) const {
    return element;
  }
};

template <class A, std::size_t... R>
A array_like(const A& x, std::index_sequence<R...>) {
  return A("map_overlap in place", x.extent(R)..., uninitialized);
}

}  // namespace detail

namespace skeletons {

/// y(i...) = f(region of x around i..., further operands...), for the indices that the edges allow. Returns
/// as launch does. ShapeMismatch where shapes differ, where a reach is negative, and where it exceeds the
/// extent of a cyclic array; AccessConflict where x and y are one array.
template <Place Where, class F, class TY, class T, int Rank, class LY, class L, class Edge, class... X>
void map_overlap(const Where& where, const F& f, const BasicCoherentArray<TY, Rank, LY>& y,
                 const BasicCoherentArray<T, Rank, L>& x, const Overlap<Rank, Edge>& overlap,
                 const X&... others) {
  using namespace detail;
  constexpr bool inner_only = std::is_same_v<Edge, edge::None>;
  check_same_shape("map_overlap", array_of(y), array_of(x));
  (check_operand("map_overlap", y, others), ...);
  check_overlap(overlap, x);
  const auto function = overlap_function(f, overlap);
  const auto run = [&](const auto& work, const auto& written) {
    launch_map<1, Given::Nothing, Given::View, OperandTraits<X>::input...>(
        label_of(where, "map_overlap"), where, work, function, written, in(x, region_of(overlap)),
        OperandTraits<X>::read(others)...);
  };
  if constexpr (!inner_only) {
    run(all_indices(y), out(y));
  } else if constexpr (Rank == 1) {
    const index_t first = overlap.reach[0], last = x.extent(0) - first;
    run(range(first, last < first ? first : last), out(y));
  } else {
    MDRange<Rank> work = all_indices(y);
    for (int d = 0; d < Rank; ++d) {
      work.lower[d] = overlap.reach[d];
      work.upper[d] -= overlap.reach[d];
      if (work.upper[d] < work.lower[d]) work.upper[d] = work.lower[d];
    }
    run(work, inout(y));  // the ends of its rows stay
  }
}

/// In place: elements of x that `update` says become f(region of x around them, further operands...);
/// `update` is one of Update, or with_scratch(update, array). Errors as above.
template <Place Where, class F, class T, int Rank, class L, class Edge, class... X>
void map_overlap(const Where& where, const F& f, const BasicCoherentArray<T, Rank, L>& x,
                 const Overlap<Rank, Edge>& overlap, const UpdateWith<BasicCoherentArray<T, Rank, L>>& update,
                 const X&... others) {
  using namespace detail;
  check_overlap(overlap, array_of(x));
  check_same_shape("map_overlap", x, array_of(update.scratch));
  const auto region = region_of(overlap);
  const auto first =
      select_overlap(f, overlap, x, update.update == Update::Normal ? -1 : update.update == Update::Black);
  const char* const label = label_of(where, "map_overlap");
  map_all(label, where, first, update.scratch, in(x, region), others...);
  if (update.update == Update::RedBlack)
    map_all(label, where, select_overlap(f, overlap, x, 1), x, in(update.scratch, region), others...);
  else map_all(label, where, CopyElement{}, x, update.scratch);
}
template <Place Where, class F, class T, int Rank, class L, class Edge, class... X>
void map_overlap(const Where& where, const F& f, const BasicCoherentArray<T, Rank, L>& x,
                 const Overlap<Rank, Edge>& overlap, Update update, const X&... others) {
  const auto scratch = detail::array_like(detail::array_of(x), std::make_index_sequence<Rank>());
  map_overlap(where, f, x, overlap, with_scratch(update, scratch), others...);
}

}  // namespace skeletons
}  // namespace strata::inline STRATA_ABI
