// find and find_if: the smallest index of a view of rank 1 whose element is equal to a value, or for which a
// predicate holds; x.end(0) if there is no such element.
//
//   const index_t i = find(x, 3.0);
//   find_if(x, IsNegative{}, i);                      // into a host variable
//   find_if(on(queue), x, IsNegative{}, first);       // into a Value<index_t, D>: does not wait
//
// The predicate is a functor, bool p(const T&) const. The search ends early, but the predicate may also be
// called for elements after the one found, and several times for an element. Views may have any layout.
// Waiting, launches, ordering and errors are those of copy_if.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/elements.hpp>
#include <strata/algorithms/place.hpp>
#if defined(__CUDACC__)
#include <strata/devices/cuda/primitives/find.hpp>
#endif

namespace strata::inline STRATA_ABI {

namespace detail {

// Items that are examined between two checks whether another thread has found a smaller index.
inline constexpr index_t find_block = 4096;
// Items that are first tested together for whether any holds: a loop without an exit, which compilers
// vectorise.
inline constexpr index_t find_step = 128;

/// Whether the predicate holds for an element of a view, by its index.
template <class X, class P>
struct HoldsAt {
  X x;
  P predicate;
  template <class Call = KernelCall>
  STRATA_FUNCTION bool operator()(index_t i, Call = {}) const {
    return static_cast<bool>(Call::call(predicate, x(i)));
  }
};

template <class X, class P, class Result>
struct FindWork {
  static constexpr bool waits = Result::waits;
  X x;
  HoldsAt<X, P> holds;
  Result result;

  template <class Execution>
  auto on(Execution execution, const LaunchInfo& info) const
      -> decltype(find_first(execution, info, index_t{}, index_t{}, this->holds, this->result)) {
    find_first(execution, info, x.begin(0), x.extent(0), holds, result);
  }

  void operator()(const Runner& runner) const {
    const index_t none = x.end(0);
    index_t found = none;
    run_pieces(runner, {x.begin(0), none, find_block, 1, Schedule::Dynamic}, [&](index_t begin, index_t end) {
      for (index_t from = begin; from < end; from += find_block) {
        if (__atomic_load_n(&found, __ATOMIC_RELAXED) < from) return;
        const index_t here = first_in(from, end - from < find_block ? end : from + find_block);
        if (here >= 0) return lower(found, from + here);
      }
    });
    result.store(found);
  }

 private:
  // The distance of the first one from `begin`, or -1.
  index_t first_in(index_t begin, index_t end) const {
    for (index_t from = begin; from < end; from += find_step) {
      const index_t stop = end - from < find_step ? end : from + find_step;
      bool any = false;
      for (index_t i = from; i < stop; ++i) any |= holds(i);
      if (!any) continue;
      for (index_t i = from; i < stop; ++i)
        if (holds(i)) return i - begin;
    }
    return -1;
  }
  static void lower(index_t& found, index_t to) {
    index_t now = __atomic_load_n(&found, __ATOMIC_RELAXED);
    while (to < now &&
           !__atomic_compare_exchange_n(&found, &now, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
  }
};

template <class T>
struct EqualToValue {
  static constexpr bool comparable = requires(const T& a) { static_cast<bool>(a == a); };
  static_assert(comparable, "strata: find: the elements cannot be compared by ==; give find_if a predicate");
  T value;
  STRATA_FUNCTION bool operator()(const T& x) const {
    if constexpr (comparable) return static_cast<bool>(x == value);
    else return false;
  }
};

template <class Where, class X, class P, class Result>
void launch_find(const char* label, const Where& where, const X& x, const P& predicate, Result& result) {
  using D = typename DeviceFor<Where, X>::type;
  using U = typename X::unmanaged_type;
  check_result_memory<D, Result>();
  if constexpr (check_rank_one<X>() && check_predicate<X, P>()) {
    require_rank_one("find_if", x);
    launch_work<X, P>(label, where, x.extent(0), [&] {
      const X noted(x);  // from a copy the launch notes where the view lives
      const auto place = index_result(result);
      return FindWork<U, P, std::remove_const_t<decltype(place)>>{noted, {noted, predicate}, place};
    });
  }
}

template <class Where, AnyView X, class P, class... Result>
auto find_into(const char* label, const Where& where, const X& x, const P& predicate, Result&&... result) {
  return into_or_returned([&](auto& place) { launch_find(label, where, x, predicate, place); }, result...);
}

}  // namespace detail

/// find_if([on(...),] x, predicate[, result]). Returns the index, unless `result` is given.
template <detail::OnOrView First, class Second, class... Rest>
auto find_if(const First& first, const Second& second, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::find_into(detail::label_of(first, "find_if"), first, second, rest...);
  else return detail::find_into("find_if", detail::Anywhere{}, first, second, rest...);
}

/// find_if with ==.
template <AnyView X, class... Result>
auto find(const X& x, const typename X::value_type& value, Result&&... result) {
  return detail::find_into("find", detail::Anywhere{}, x, detail::EqualToValue<typename X::value_type>{value},
                           result...);
}
template <class D, AnyView X, class... Result>
auto find(const On<D>& where, const X& x, const typename X::value_type& value, Result&&... result) {
  return detail::find_into(detail::label_of(where, "find"), where, x,
                           detail::EqualToValue<typename X::value_type>{value}, result...);
}

}  // namespace strata::inline STRATA_ABI
