// Collective operations of a team: nested loops, single and broadcast. See team.hpp.
//
// All members of the team must call them, in the same order, except those that concern one member alone:
// vector_range and per_member.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>
#include <utility>

#include <strata/algorithms/reducers.hpp>
#include <strata/algorithms/reduction.hpp>
#include <strata/devices/team_nesting.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// A member of a team, of any device.
template <class M>
concept Member = requires(const M& member) {
  typename M::scratch_layout;
  member.barrier();
  member.league_rank();
};

template <class Over, Member M>
struct NestedRange {
  using over = Over;
  M member;
  index_t begin;
  index_t end;
};
template <class>
inline constexpr bool is_nested_range = false;
template <class Over, class M>
inline constexpr bool is_nested_range<NestedRange<Over, M>> = true;
template <class R>
concept Nested = is_nested_range<R>;

template <class One, Member M>
struct OneOf {
  M member;
};

// The value type of a scan's body, where it is no template.
template <class>
struct ScanValue {
  using type = void;
};
template <class R, class C, class I, class T, class B>
struct ScanValue<R (C::*)(I, T&, B) const> {
  using type = T;
};
template <class F>
constexpr auto scan_value_of() {
  if constexpr (requires { &F::operator(); })
    return std::type_identity<typename ScanValue<decltype(&F::operator())>::type>();
  else return std::type_identity<void>();
}

// Calls a body with each value of a Values by itself.
template <class F, std::size_t... I>
struct NestedSpread {
  const F& f;
  template <class V>
  STRATA_FUNCTION void operator()(index_t i, V& values) const {
    f(i, slot<I>(values)...);
  }
};
STRATA_MAY_CALL_HOST
template <class R, class F, std::size_t... I, class... Operation, class... T>
STRATA_FUNCTION void reduce_several(const R& range, const F& f, std::index_sequence<I...>,
                                    const Reducer<Operation, T, T*>&... results) {
  using Joiner = JoinEach<std::index_sequence<I...>, Reducer<Operation, T, T*>...>;
  typename Joiner::value_type values;
  range.member.reduce_items(typename R::over(), range.begin, range.end, NestedSpread<F, I...>{f}, Joiner(),
                            values);
  ((*results.target = slot<I>(values)), ...);
}

}  // namespace detail

// ---- loops within a team

/// Items distributed over the members of the team; all members must reach the loop. The loop's end is not a
/// barrier.
template <detail::Member M>
STRATA_FUNCTION detail::NestedRange<detail::OverMembers, M> team_range(const M& member, index_t n) {
  return {member, 0, n};
}
template <detail::Member M>
STRATA_FUNCTION detail::NestedRange<detail::OverMembers, M> team_range(const M& member, index_t begin,
                                                                       index_t end) {
  return {member, begin, end};
}
/// Items distributed over the lanes of the calling member.
template <detail::Member M>
STRATA_FUNCTION detail::NestedRange<detail::OverLanes, M> vector_range(const M& member, index_t n) {
  return {member, 0, n};
}
template <detail::Member M>
STRATA_FUNCTION detail::NestedRange<detail::OverLanes, M> vector_range(const M& member, index_t begin,
                                                                       index_t end) {
  return {member, begin, end};
}
/// Items distributed over all lanes of all members of the team.
template <detail::Member M>
STRATA_FUNCTION detail::NestedRange<detail::OverMembersAndLanes, M> team_vector_range(const M& member,
                                                                                      index_t n) {
  return {member, 0, n};
}
template <detail::Member M>
STRATA_FUNCTION detail::NestedRange<detail::OverMembersAndLanes, M> team_vector_range(const M& member,
                                                                                      index_t begin,
                                                                                      index_t end) {
  return {member, begin, end};
}

/// Calls f(i) for every item.
STRATA_MAY_CALL_HOST
template <detail::Nested R, class F>
STRATA_FUNCTION void parallel_for(const R& range, const F& f) {
  static_assert(std::is_invocable_v<const F&, index_t>,
                "strata: parallel_for within a team: the body cannot be called as f(index)");
  range.member.for_items(typename R::over(), range.begin, range.end, f);
}

/// Calls f(i, value) for every item and gives every member (with vector_range every lane) the sum of the
/// values in `result`.
STRATA_MAY_CALL_HOST
template <detail::Nested R, class F, class T>
requires(!detail::is_reducer_v<T>) STRATA_FUNCTION
    void parallel_reduce(const R& range, const F& f, T& result) {
  static_assert(std::is_invocable_v<const F&, index_t, T&>,
                "strata: parallel_reduce within a team: the body cannot be called as f(index, value&)");
  static_assert(
      !detail::takes_by_value<F, T&>(detail::TypeList<index_t>(), detail::TypeList<>()),
      "strata: parallel_reduce within a team: the body takes its value by value, so that what it adds "
      "is lost: take the value by reference, double& or auto&");
  const Reducer<detail::SumOf, T, detail::NoTarget> reducer{};
  range.member.reduce_items(typename R::over(), range.begin, range.end, f, reducer, result);
}
/// The same with named reducers, several results at once: f(i, a, b) with Max(a), Sum(b).
STRATA_MAY_CALL_HOST
template <detail::Nested R, class F, class... Operation, class... T>
STRATA_FUNCTION void parallel_reduce(const R& range, const F& f,
                                     const Reducer<Operation, T, T*>&... results) {
  static_assert(std::is_invocable_v<const F&, index_t, T&...>,
                "strata: parallel_reduce within a team: the body cannot be called as f(index, value&...)");
  static_assert(
      !detail::takes_by_value<F, T&...>(detail::TypeList<index_t>(), detail::TypeList<>()),
      "strata: parallel_reduce within a team: the body takes its value by value, so that what it adds "
      "is lost: take the value by reference, double& or auto&");
  if constexpr (sizeof...(T) == 1)
    (range.member.reduce_items(typename R::over(), range.begin, range.end, f, results, *results.target), ...);
  else detail::reduce_several(range, f, std::index_sequence_for<T...>(), results...);
}

/// Prefix sums: calls f(i, value, final) as parallel_scan over a range does, every item up to twice; `value`
/// starts at T(). Every member gets the sum of all in `total`.
STRATA_MAY_CALL_HOST
template <detail::Nested R, class F, class T>
requires(!detail::is_reducer_v<T>) STRATA_FUNCTION void parallel_scan(const R& range, const F& f, T& total) {
  static_assert(
      std::is_invocable_v<const F&, index_t, T&, bool>,
      "strata: parallel_scan within a team: the body cannot be called as f(index, value&, bool final)");
  static_assert(
      !detail::takes_by_value<F, T&, bool>(detail::TypeList<index_t>(), detail::TypeList<>()),
      "strata: parallel_scan within a team: the body takes its value by value, so that what it adds is "
      "lost: take the value by reference, double& or auto&");
  const Reducer<detail::SumOf, T, detail::NoTarget> reducer{};
  range.member.scan_items(typename R::over(), range.begin, range.end, f, reducer, total);
}
STRATA_MAY_CALL_HOST
template <detail::Nested R, class F, class Operation, class T>
STRATA_FUNCTION void parallel_scan(const R& range, const F& f, const Reducer<Operation, T, T*>& total) {
  static_assert(
      std::is_invocable_v<const F&, index_t, T&, bool>,
      "strata: parallel_scan within a team: the body cannot be called as f(index, value&, bool final)");
  static_assert(
      !detail::takes_by_value<F, T&, bool>(detail::TypeList<index_t>(), detail::TypeList<>()),
      "strata: parallel_scan within a team: the body takes its value by value, so that what it adds is "
      "lost: take the value by reference, double& or auto&");
  range.member.scan_items(typename R::over(), range.begin, range.end, f, total, *total.target);
}
/// Without a total; the body's value has a type that is written out: [&](index_t i, double& value, bool
/// final).
template <detail::Nested R, class F>
STRATA_FUNCTION void parallel_scan(const R& range, const F& f) {
  using T = typename decltype(detail::scan_value_of<F>())::type;
  static_assert(
      !std::is_void_v<T>,
      "strata: parallel_scan within a team: the type of the values is not known: write it out in the "
      "body, f(index, double& value, bool final), or give a variable for the total");
  if constexpr (!std::is_void_v<T>) {
    T total;
    parallel_scan(range, f, total);
  }
}

// ---- one value for all

/// One member of the team; one lane of the calling member.
template <detail::Member M>
STRATA_FUNCTION detail::OneOf<detail::OneOfTeam, M> per_team(const M& member) {
  return {member};
}
template <detail::Member M>
STRATA_FUNCTION detail::OneOf<detail::OneOfMember, M> per_member(const M& member) {
  return {member};
}
/// Calls f() once. The team's other members do not wait.
STRATA_MAY_CALL_HOST
template <class One, detail::Member M, class F>
STRATA_FUNCTION void single(const detail::OneOf<One, M>& one, const F& f) {
  static_assert(std::is_invocable_v<const F&>, "strata: single: the body cannot be called as f()");
  one.member.single(One(), f);
}
/// Calls f(value) once, and passes the value to all members of the team, or lanes of the member.
STRATA_MAY_CALL_HOST
template <class One, detail::Member M, class F, class T>
STRATA_FUNCTION void single(const detail::OneOf<One, M>& one, const F& f, T& value) {
  static_assert(std::is_invocable_v<const F&, T&>, "strata: single: the body cannot be called as f(value&)");
  static_assert(std::is_trivially_copyable_v<T>, "strata: single: the value is trivially copyable");
  one.member.single(One(), [&] { f(value); });
  one.member.broadcast(One(), value, 0);
}
/// Every member's `value` becomes that of member `root`.
STRATA_MAY_CALL_HOST
template <detail::Member M, class T>
STRATA_FUNCTION void broadcast(const M& member, T& value, int root = 0) {
  static_assert(std::is_trivially_copyable_v<T>, "strata: broadcast: the value is trivially copyable");
  member.broadcast(detail::OneOfTeam(), value, root);
}

}  // namespace strata::inline STRATA_ABI
