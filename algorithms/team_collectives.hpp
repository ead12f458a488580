// More that the members of a team do together: loops over boxes, values that each member has joined, and
// sorting. See team.hpp for teams, and for what "together" means.
//
//   parallel_for(team_mdrange(member, {n, 8}), [&](index_t i, index_t j) { tile(i, j) = 0; });
//   team_reduce(member, Max(value));                    // every member's `value` becomes the largest
//   const int before = team_scan(member, count);        // of the members with a smaller rank
//   team_sort(member, scratch);                         // all members see it sorted
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/algorithms/team_nested.hpp>
#include <strata/core/fail.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// A box of items [0, extent) in each dimension, shared out over members, lanes, or both.
template <class Over, Member M, int Rank>
struct NestedBox {
  using over = Over;
  static constexpr int rank = Rank;
  M member;
  index_t extent[Rank];

  STRATA_FUNCTION index_t items() const {
    index_t n = 1;
    for (int r = 0; r < Rank; ++r) n *= extent[r] > 0 ? extent[r] : 0;
    return n;
  }
};
template <class Over, int Rank, Member M>
STRATA_FUNCTION NestedBox<Over, M, Rank> nested_box(const M& member, const index_t (&extents)[Rank]) {
  NestedBox<Over, M, Rank> box{member, {}};
  for (int r = 0; r < Rank; ++r) box.extent[r] = extents[r];
  return box;
}

// A body of a box as one of a range. The index that is fastest in the team's scratch arrays counts fastest.
template <class F, int Rank, bool LastIsFastest>
struct BoxBody {
  const F& f;
  const index_t (&extent)[Rank];

  template <class... V>
  STRATA_FUNCTION void operator()(index_t k, V&... values) const {
    index_t i[Rank] = {};
    for (int q = 0; q + 1 < Rank; ++q) {
      const int r = LastIsFastest ? Rank - 1 - q : q;
      i[r] = k % extent[r];
      k /= extent[r];
    }
    i[LastIsFastest ? 0 : Rank - 1] = k;
    call(i, std::make_index_sequence<Rank>(), values...);
  }

 private:
  template <std::size_t... R, class... V>
  STRATA_FUNCTION void call(const index_t* i, std::index_sequence<R...>, V&... values) const {
    f(i[R]..., values...);
  }
};
template <class Box, class F>
using BoxBodyOf = BoxBody<F, Box::rank, decltype(Box::member)::scratch_layout::contiguous_rows>;

template <class F, class Sequence, class... V>
struct TakesIndices;
template <class F, std::size_t... R, class... V>
struct TakesIndices<F, std::index_sequence<R...>, V...>
    : std::is_invocable<const F&, std::enable_if_t<R + 1 != 0, index_t>..., V...> {};

template <class>
inline constexpr bool is_nested_box = false;
template <class Over, class M, int Rank>
inline constexpr bool is_nested_box<NestedBox<Over, M, Rank>> = true;
template <class B>
concept NestedBoxType = is_nested_box<B>;

}  // namespace detail

// ---- loops over boxes

/// The items of a box of `extents`, distributed over the members of the team; over the lanes of the calling
/// member; over all lanes of all members. As team_range, vector_range and team_vector_range.
template <detail::Member M, int Rank>
STRATA_FUNCTION auto team_mdrange(const M& member, const index_t (&extents)[Rank]) {
  return detail::nested_box<detail::OverMembers>(member, extents);
}
template <detail::Member M, int Rank>
STRATA_FUNCTION auto vector_mdrange(const M& member, const index_t (&extents)[Rank]) {
  return detail::nested_box<detail::OverLanes>(member, extents);
}
template <detail::Member M, int Rank>
STRATA_FUNCTION auto team_vector_mdrange(const M& member, const index_t (&extents)[Rank]) {
  return detail::nested_box<detail::OverMembersAndLanes>(member, extents);
}

/// Calls f(i, j, ...) for every item of the box.
STRATA_MAY_CALL_HOST
template <detail::NestedBoxType B, class F>
STRATA_FUNCTION void parallel_for(const B& box, const F& f) {
  static_assert(detail::TakesIndices<F, std::make_index_sequence<B::rank>>::value,
                "strata: parallel_for within a team: the body of a box is called with one index for each "
                "dimension, f(i, j)");
  const detail::BoxBodyOf<B, F> body{f, box.extent};
  box.member.for_items(typename B::over(), 0, box.items(), body);
}
/// Calls f(i, j, ..., value) for every item and gives every member the sum of the values in `result`.
STRATA_MAY_CALL_HOST
template <detail::NestedBoxType B, class F, class T>
requires(!detail::is_reducer_v<T>) STRATA_FUNCTION void parallel_reduce(const B& box, const F& f, T& result) {
  static_assert(detail::TakesIndices<F, std::make_index_sequence<B::rank>, T&>::value,
                "strata: parallel_reduce within a team: the body of a box is called with one index for each "
                "dimension and the value, f(i, j, value&)");
  const detail::BoxBodyOf<B, F> body{f, box.extent};
  const Reducer<detail::SumOf, T, detail::NoTarget> reducer{};
  box.member.reduce_items(typename B::over(), 0, box.items(), body, reducer, result);
}
/// The same with a named reducer: f(i, j, ..., value) with Max(value).
STRATA_MAY_CALL_HOST
template <detail::NestedBoxType B, class F, class Operation, class T>
STRATA_FUNCTION void parallel_reduce(const B& box, const F& f, const Reducer<Operation, T, T*>& result) {
  static_assert(detail::TakesIndices<F, std::make_index_sequence<B::rank>, T&>::value,
                "strata: parallel_reduce within a team: the body of a box is called with one index for each "
                "dimension and the value, f(i, j, value&)");
  const detail::BoxBodyOf<B, F> body{f, box.extent};
  box.member.reduce_items(typename B::over(), 0, box.items(), body, result, *result.target);
}

// ---- a value of each member

namespace detail {

template <class Operation, class T>
struct JoinOwn {
  const T& own;
  STRATA_FUNCTION void operator()(index_t, T& value) const { Operation::join(value, own); }
};
// Notes what came before.
template <class Operation, class T>
struct ScanOwn {
  const T& own;
  T& before;
  STRATA_FUNCTION void operator()(index_t, T& value, bool final) const {
    if (final) before = value;
    Operation::join(value, own);
  }
};

}  // namespace detail

/// Joins the variables of all members, pairwise by rank: every member gets the result in its own.
STRATA_MAY_CALL_HOST
template <detail::Member M, class Operation, class T>
STRATA_FUNCTION void team_reduce(const M& member, const Reducer<Operation, T, T*>& value) {
  const T mine = *value.target;
  member.reduce_items(detail::OverMembers(), 0, member.team_size(), detail::JoinOwn<Operation, T>{mine},
                      value, *value.target);
}
/// The joined values of the members with a smaller rank, and in the variable, which each member gives a
/// value, those of all members.
STRATA_MAY_CALL_HOST
template <detail::Member M, class Operation, class T>
[[nodiscard]] STRATA_FUNCTION T team_scan(const M& member, const Reducer<Operation, T, T*>& value) {
  const T mine = *value.target;
  T before = mine;
  member.scan_items(detail::OverMembers(), 0, member.team_size(), detail::ScanOwn<Operation, T>{mine, before},
                    value, *value.target);
  return before;
}
/// The sum of the values of the members with a smaller rank.
STRATA_MAY_CALL_HOST
template <detail::Member M, class T>
requires(!detail::is_reducer_v<T>) [[nodiscard]] STRATA_FUNCTION T team_scan(const M& member, T value) {
  return team_scan(member, Reducer<detail::SumOf, T, T*>{&value});
}

// ---- sorting

namespace detail {

struct LessThan {
  template <class T>
  STRATA_FUNCTION constexpr bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

template <class V>
STRATA_FUNCTION void swap_elements(const V& x, index_t a, index_t b) {
  const typename V::value_type kept = x(a);
  x(a) = static_cast<typename V::value_type>(x(b));
  x(b) = kept;
}

// Batcher's bitonic network with all comparisons upwards, for which elements past the end count as the
// largest: comparisons with them do nothing. Each comparison of a step has two elements of its own. The first
// step of a round compares an element with its mirror image in the block.
template <class M, class Less, class Keys, class Swap>
STRATA_FUNCTION void sort_by_network(const M& member, const Keys& keys, const Less& less, const Swap& swap) {
  const index_t n = keys.extent(0), begin = keys.begin(0);
  index_t whole = 1;
  while (whole < n) whole *= 2;
  member.barrier();
  for (index_t size = 2; size <= whole; size *= 2)
    for (index_t half = size / 2; half > 0; half /= 2) {
      const bool mirrored = 2 * half == size;
      parallel_for(team_vector_range(member, whole / 2), [&](index_t c) {
        const index_t block = c / half * 2 * half, at = c % half;
        const index_t a = block + at, b = mirrored ? block + 2 * half - 1 - at : a + half;
        if (b < n && less(static_cast<typename Keys::value_type>(keys(begin + b)),
                          static_cast<typename Keys::value_type>(keys(begin + a))))
          swap(a, b);
      });
      member.barrier();
    }
}

template <class V>
constexpr bool check_team_sort() {
  static_assert(
      V::extents_type::max_rank_value == 1,
      "strata: team_sort: the view has one dimension: give MDArray<T, Device, rank<1>>, or a subview");
  static_assert(!std::is_const_v<typename V::element_type>, "strata: team_sort: the view has const elements");
  return V::extents_type::max_rank_value == 1 && !std::is_const_v<typename V::element_type>;
}

}  // namespace detail

/// Sorts a view of one dimension with all members of the team, in scratch memory or elsewhere: before it and
/// after it they wait for each other. Equal elements are in any order, the same in every run. For thousands
/// of elements and fewer: O(n log^2 n). `less` is a strict order, of const call operator.
STRATA_MAY_CALL_HOST
template <detail::Member M, AnyView V, class Less = detail::LessThan>
STRATA_FUNCTION void team_sort(const M& member, const V& keys, const Less& less = Less()) {
  if constexpr (detail::check_team_sort<V>()) {
    const index_t begin = keys.begin(0);
    detail::sort_by_network(member, keys, less,
                            [&](index_t a, index_t b) { detail::swap_elements(keys, begin + a, begin + b); });
  }
}
/// The same, `values` moving with their keys. ExtentError (on GPUs a trap) where there are not as many.
STRATA_MAY_CALL_HOST
template <detail::Member M, AnyView Keys, AnyView Values, class Less = detail::LessThan>
STRATA_FUNCTION void team_sort_by_key(const M& member, const Keys& keys, const Values& values,
                                      const Less& less = Less()) {
  if constexpr (detail::check_team_sort<Keys>() && detail::check_team_sort<Values>()) {
    if (values.extent(0) != keys.extent(0))
      detail::fail_extent(0, values.extent(0),
                          "of the values of team_sort_by_key: there are not as many keys");
    const index_t begin = keys.begin(0), first = values.begin(0);
    detail::sort_by_network(member, keys, less, [&](index_t a, index_t b) {
      detail::swap_elements(keys, begin + a, begin + b);
      detail::swap_elements(values, first + a, first + b);
    });
  }
}

}  // namespace strata::inline STRATA_ABI
