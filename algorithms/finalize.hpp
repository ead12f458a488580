// finalize: a functor that is called once, on the device, with the value of a reduction.
//
//   launch_reduce(where, n, functor, finalize(f), in(x));             // f(value&)
//   launch_reduce(where, n, functor, finalize(f, out(dt)), in(x));    // f(value&, dt)
//
// parallel_reduce takes finalize(f), too, and the bare functor f for the programs of the Kokkos Array paper.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/core/value_pack.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class A>
inline constexpr bool is_access_v = false;  // of plain views: launch.hpp
template <class A>
inline constexpr bool is_coherent_access_v = false;  // coherent_access.hpp
template <class A>
inline constexpr bool is_any_access_v = is_access_v<A> || is_coherent_access_v<A>;

// A functor with its views: bound_finalize.hpp.
template <class F, class... V>
struct BoundFinalize;
template <class>
inline constexpr bool is_bound_finalize = false;
template <class F, class... V>
inline constexpr bool is_bound_finalize<BoundFinalize<F, V...>> = true;

template <class F, class... Accesses>
struct Finalize {
  F functor;
  ValuePack<Accesses...> accesses;
};
template <class>
inline constexpr bool is_finalize_v = false;
template <class F, class... A>
inline constexpr bool is_finalize_v<Finalize<F, A...>> = true;
template <class>
inline constexpr bool has_finalize_accesses = false;
template <class F, class First, class... A>
inline constexpr bool has_finalize_accesses<Finalize<F, First, A...>> = true;

}  // namespace detail

/// `functor(value&, views...)` is called once with the value of a reduction, on the (first) device; accesses
/// as of a launch of one work item 0.
template <class F, class... Accesses>
requires(detail::is_any_access_v<Accesses>&&...) detail::Finalize<F, Accesses...> finalize(
    const F& functor, const Accesses&... accesses) {
  return {functor, {accesses...}};
}

}  // namespace strata::inline STRATA_ABI
