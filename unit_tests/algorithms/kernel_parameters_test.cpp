// Which kernels take by value what they are handed by reference: every form of index, view and value, in
// every kind of launch. Decided by the compiler; must_not_compile/ has the messages.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <type_traits>

#include <strata/algorithms/kernel.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/mdarray.hpp>

namespace {

using namespace strata;

template <class D>
using Vector = MDArray<double, D, rank<1>>;

// The launches of a kernel with a value: over one dimension (also slices, streamed and launch_reduce, which
// bind their views like `with`), two dimensions, teams; a scan.
template <class D, class K, class... V>
constexpr bool loses_in_range =
    detail::loses_values<D, void, std::conditional_t<sizeof...(V) == 0, K, With<K, V...>>, 1, double&>;
template <class D, class K>
constexpr bool loses_in_range<D, K> = detail::loses_values<D, void, K, 1, double&>;
template <class D, class K>
constexpr bool loses_in_scan = detail::loses_values<D, void, K, 1, double&, bool>;
template <class D, class K>
constexpr bool loses_in_plane = detail::loses_values<D, void, K, 2, double&>;
template <class K>
constexpr bool loses_in_team = detail::takes_by_value<K, double&>(detail::TypeList<index_t>(),
                                                                  detail::TypeList<>());

// `Lost` is what all of them shall say, on a device whose index is a lane's and on one whose index is plain.
template <bool Lost, class K>
constexpr bool range_and_team() {
  static_assert(loses_in_range<Serial, K> == Lost && loses_in_range<Emulated, K> == Lost);
  static_assert(loses_in_range<Emulated, K> == Lost && loses_in_team<K> == Lost);
  return true;
}
template <bool Lost, class K>
constexpr bool scan() {
  static_assert(loses_in_scan<Serial, K> == Lost && loses_in_scan<Emulated, K> == Lost);
  return true;
}
template <bool Lost, class K>
constexpr bool plane() {
  static_assert(loses_in_plane<Serial, K> == Lost && loses_in_plane<Emulated, K> == Lost);
  return true;
}
template <bool Lost, class K>
constexpr bool with_view() {
  static_assert(loses_in_range<Serial, K, Vector<Serial>> == Lost);
  static_assert(loses_in_range<Emulated, K, Vector<Emulated>> == Lost);
  return true;
}
template <bool Lost, class K>
constexpr bool with_two_views() {
  static_assert(loses_in_range<Serial, K, Vector<Serial>, Vector<Serial>> == Lost);
  return true;
}

// Calls F(lost, index, value) for all forms of an index and a value.
#define FOR_VALUES(F, I)                                                                   \
  F(true, I, auto) && F(true, I, double) && F(true, I, float) && F(true, I, const auto) && \
      F(false, I, auto&) && F(false, I, double&) && F(false, I, auto&&) && F(false, I, const auto&)
#define FOR_ALL(F)                                                                                        \
  FOR_VALUES(F, auto) && FOR_VALUES(F, const auto&) && FOR_VALUES(F, auto&&) && FOR_VALUES(F, index_t) && \
      FOR_VALUES(F, const index_t&) && FOR_VALUES(F, int) && FOR_VALUES(F, std::size_t)

#define IN_RANGE(LOST, I, S) range_and_team<LOST, decltype([](I, S) {})>()
#define IN_SCAN(LOST, I, S) scan<LOST, decltype([](I, S, bool) {})>()
#define IN_PLANE(LOST, I, S) plane<LOST, decltype([](I, I, S) {})>()
#define IN_MIXED_PLANE(LOST, I, S) plane<LOST, decltype([](I, auto, S) {})>()
static_assert(FOR_ALL(IN_RANGE));
static_assert(FOR_ALL(IN_SCAN));
static_assert(FOR_ALL(IN_PLANE));
static_assert(FOR_VALUES(IN_MIXED_PLANE, index_t) && FOR_VALUES(IN_MIXED_PLANE, int));

#define BY_VALUE(LOST, I, S) with_view<LOST, decltype([](I, auto, S) {})>()
#define BY_CONST_REFERENCE(LOST, I, S) with_view<LOST, decltype([](I, const auto&, S) {})>()
#define BY_FORWARDED(LOST, I, S) with_view<LOST, decltype([](I, auto&&, S) {})>()
static_assert(FOR_ALL(BY_VALUE));
static_assert(FOR_ALL(BY_CONST_REFERENCE));
static_assert(FOR_ALL(BY_FORWARDED));

#define MIXED(LOST, I, S) with_two_views<LOST, decltype([](I, const auto&, auto, S) {})>()
#define CONSTRAINED(LOST, I, S) \
  with_two_views<LOST, decltype([](I, const AnyView auto&, Vector<AnyHost>, S) {})>()
static_assert(FOR_ALL(MIXED));
static_assert(FOR_ALL(CONSTRAINED));

// What a kernel returns changes nothing.
#define RETURNS(LOST, I, S) range_and_team<LOST, decltype([](I, S s) { return s; })>()
static_assert(RETURNS(true, int, auto) && RETURNS(true, auto, auto) && RETURNS(false, int, auto&));

// Several values: one of them by value is enough.
template <class K>
constexpr bool loses_one_of_two = detail::loses_values<Serial, void, K, 1, double&, int&>;
static_assert(loses_one_of_two<decltype([](index_t, auto&, auto) {})>);
static_assert(loses_one_of_two<decltype([](index_t, auto, auto&) {})>);
static_assert(loses_one_of_two<decltype([](auto, auto...) {})>);
static_assert(!loses_one_of_two<decltype([](index_t, auto&, int&) {})>);
static_assert(!loses_one_of_two<decltype([](auto, auto&...) {})>);
static_assert(!loses_one_of_two<decltype([](auto&&...) {})>);

// Several call operators: the one that is called counts.
struct First {};
struct Second {};
template <class I>
struct TwoOperators {
  void operator()(First, I, double&) const {}
  void operator()(Second, I, double) const {}
};
struct TwoGenericOperators {
  void operator()(First, index_t, auto&) const {}
  void operator()(Second, int, auto) const {}
};
struct OneOrTwoViews {
  void operator()(index_t, const auto&, double& s) const { s += 1; }
  void operator()(index_t, const auto&, const auto&, double s) const { s += 1; }
};
template <class Tag, class K>
constexpr bool loses_with_tag = detail::loses_values<Serial, Tag, K, 1, double&>;
static_assert(!loses_with_tag<First, TwoOperators<int>> && loses_with_tag<Second, TwoOperators<int>>);
static_assert(!loses_with_tag<First, TwoOperators<index_t>> && loses_with_tag<Second, TwoOperators<index_t>>);
static_assert(!loses_with_tag<First, TwoOperators<Serial::index_type>> &&
              loses_with_tag<Second, TwoOperators<Serial::index_type>>);
static_assert(!loses_with_tag<First, TwoGenericOperators> && loses_with_tag<Second, TwoGenericOperators>);
static_assert(with_view<false, OneOrTwoViews>() && with_two_views<true, OneOrTwoViews>());

// Kernels of teams, whose first argument is a member.
struct OfTeam {
  void operator()(const auto&, auto s) const { s += 1; }
};
struct OfTeamByReference {
  void operator()(const auto&, auto& s) const { s += 1; }
};
static_assert(detail::loses_values<Serial, void, OfTeam, detail::teams_rank, double&>);
static_assert(!detail::loses_values<Serial, void, OfTeamByReference, detail::teams_rank, double&>);

// A body is compiled for the arguments of the launch, and for no others.
template <class I, class S>
struct OnlyFor {
  template <class GivenIndex, class GivenValue>
  void operator()(GivenIndex, GivenValue&&) const {
    static_assert(std::is_same_v<GivenIndex, I> && std::is_same_v<GivenValue, S>);
  }
  void operator()(First) const {}
};
static_assert(!loses_in_range<Serial, OnlyFor<Serial::index_type, double&>>);
static_assert(!loses_in_range<Emulated, OnlyFor<Emulated::index_type, double&>>);

}  // namespace
