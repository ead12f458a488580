// local_deep_copy: copies or fills a view within a kernel: by all members of a team together, or by the
// calling index alone.
//
//   local_deep_copy(member, tile, subview(a, range(i, i + 8), everything));   // before it and after it all
//   local_deep_copy(member, tile, 0.0);                                       // members wait for each other
//   local_deep_copy(subview(y, i, everything), subview(x, i, everything));    // alone
//
// Elements are converted as static_cast does it. Both views have the same extents: ExtentError otherwise, on
// GPUs a trap. They must not overlap. Within a team all members make the call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <strata/algorithms/team_nested.hpp>
#include <strata/core/fail.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// f(offsets) with the k-th multi-index of an array of rank R, counted from 0; neighbours in k are neighbours
// in memory.
template <int R, bool LastIsFastest, class V, class F>
STRATA_FUNCTION void with_multi_index(const V& view, index_t k, const F& f) {
  index_t i[R + 1] = {};
  for (int q = 0; q < R; ++q) {
    const int r = LastIsFastest ? R - 1 - q : q;
    const index_t n = view.extent(r);
    i[r] = q + 1 == R ? k : k % n;
    k = q + 1 == R ? 0 : k / n;
  }
  f(i);
}

template <class V, std::size_t... R>
STRATA_FUNCTION constexpr decltype(auto) element_at(const V& view, [[maybe_unused]] const index_t* i,
                                                    std::index_sequence<R...>) {
  return view((i[R] + view.begin(static_cast<int>(R)))...);
}

// Element k becomes that of the source.
template <int R, class D, class S>
struct LocalCopy {
  D destination;
  S source;
  STRATA_FUNCTION void operator()(index_t k) const {
    constexpr auto all = std::make_index_sequence<R>();
    with_multi_index<R, D::layout_type::contiguous_rows>(destination, k, [&](const index_t* i) {
      element_at(destination, i, all) = static_cast<typename D::value_type>(element_at(source, i, all));
    });
  }
};
template <int R, class D>
struct LocalFill {
  D destination;
  typename D::value_type value;
  STRATA_FUNCTION void operator()(index_t k) const {
    with_multi_index<R, D::layout_type::contiguous_rows>(destination, k, [&](const index_t* i) {
      element_at(destination, i, std::make_index_sequence<R>()) = value;
    });
  }
};

// f(rank) as a constant.
template <class V, class F, std::size_t... R>
STRATA_FUNCTION void with_any_rank(const V& view, const F& f, std::index_sequence<R...>) {
  ((view.rank() == static_cast<int>(R) ? f(std::integral_constant<int, static_cast<int>(R)>()) : void()),
   ...);
}
template <class V, class F>
STRATA_FUNCTION void with_rank_of(const V& view, const F& f) {
  using E = typename V::extents_type;
  if constexpr (!E::has_dynamic_rank) f(std::integral_constant<int, E::max_rank_value>());
  else with_any_rank(view, f, std::make_index_sequence<E::max_rank_value + 1>());
}

template <class D, class S>
STRATA_FUNCTION void check_local_copy(const D& destination, const S& source) {
  static_assert(
      !std::is_const_v<typename D::element_type>,
      "strata: local_deep_copy: the destination has const elements: you wrote "
      "local_deep_copy(destination, source) with a view of const T as the first; write a view of T");
  constexpr bool fits = D::extents_type::has_dynamic_rank || S::extents_type::has_dynamic_rank ||
                        D::extents_type::max_rank_value == S::extents_type::max_rank_value;
  static_assert(fits, "strata: local_deep_copy: the views have not as many dimensions as each other");
  if (destination.rank() != source.rank())
    fail_rank(source.rank(), destination.rank(), "the source of local_deep_copy");
  for (int r = 0; r < destination.rank(); ++r)
    if (source.extent(r) != destination.extent(r))
      fail_extent(r, source.extent(r), "of the source of local_deep_copy: the destination has another there");
}

}  // namespace detail

/// Copies `source` to `destination` with all members and lanes of the team. Everything that members did
/// before is done when it begins, and it is complete for all of them on return.
STRATA_MAY_CALL_HOST
template <detail::Member M, AnyView D, AnyView S>
STRATA_FUNCTION void local_deep_copy(const M& member, const D& destination, const S& source) {
  detail::check_local_copy(destination, source);
  member.barrier();
  detail::with_rank_of(destination, [&](auto rank) {
    if constexpr (S::extents_type::has_dynamic_rank ||
                  decltype(rank)::value == S::extents_type::max_rank_value)
      parallel_for(team_vector_range(member, static_cast<index_t>(destination.size())),
                   detail::LocalCopy<decltype(rank)::value, D, S>{destination, source});
  });
  member.barrier();
}
/// Sets every element to `value`, likewise.
STRATA_MAY_CALL_HOST
template <detail::Member M, AnyView D>
STRATA_FUNCTION void local_deep_copy(const M& member, const D& destination,
                                     const typename D::value_type& value) {
  member.barrier();
  detail::with_rank_of(destination, [&](auto rank) {
    parallel_for(team_vector_range(member, static_cast<index_t>(destination.size())),
                 detail::LocalFill<decltype(rank)::value, D>{destination, value});
  });
  member.barrier();
}

/// Copies `source` to `destination` in the calling index alone: in kernels of any kind, and on the host.
template <AnyView D, AnyView S>
STRATA_FUNCTION void local_deep_copy(const D& destination, const S& source) {
  detail::check_local_copy(destination, source);
  detail::with_rank_of(destination, [&](auto rank) {
    if constexpr (S::extents_type::has_dynamic_rank ||
                  decltype(rank)::value == S::extents_type::max_rank_value) {
      const detail::LocalCopy<decltype(rank)::value, D, S> copy{destination, source};
      for (index_t k = 0; k < static_cast<index_t>(destination.size()); ++k) copy(k);
    }
  });
}
/// Sets every element to `value`, likewise.
template <AnyView D>
STRATA_FUNCTION void local_deep_copy(const D& destination, const typename D::value_type& value) {
  detail::with_rank_of(destination, [&](auto rank) {
    const detail::LocalFill<decltype(rank)::value, D> fill{destination, value};
    for (index_t k = 0; k < static_cast<index_t>(destination.size()); ++k) fill(k);
  });
}

}  // namespace strata::inline STRATA_ABI
