// transform_reduce: joins the values of a functor of the elements of one view of rank 1, or of two.
//
//   const double s = transform_reduce(x, Square{});               // the sum, returned
//   transform_reduce(x, Square{}, Sum(s), Max(m));                // into named reducers (reducers.hpp)
//   transform_reduce(x, y, Multiply{}, Sum(dot));                 // of pairs x(i), y(i)
//   transform_reduce(x, Identity{}, MinLoc(least));               // the location is the index of x
//   transform_reduce(on(queue).named("norm"), x, Square{}, Sum(value)); // into a Value: does not wait
//
// The functor is called as f(const T&) const, once an element, or f(const T&, const U&) const. Values are
// joined by the tree of parallel_reduce: the same bits with any number of threads. Views may have any layout;
// two have the same indices (ShapeMismatch). Waiting, launches, ordering and errors are those of
// parallel_reduce.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/elements.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/algorithms/place.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// The contribution of an element to the value of a reducer.
template <class V>
struct ElementValue {
  template <class T>
  STRATA_FUNCTION static V of(const T& t, index_t) {
    // Else the value would be the first member, and the other members 0.
    static_assert(!std::is_aggregate_v<V> || std::is_convertible_v<const T&, V>,
                  "strata: transform_reduce: the functor's values do not convert to the struct that the "
                  "reducer joins: return that struct");
    return static_cast<V>(t);
  }
};
template <class T, class I>
struct ElementValue<ValueLocation<T, I>> {
  template <class U>
  STRATA_FUNCTION static ValueLocation<T, I> of(const U& t, index_t i) {
    return {static_cast<T>(t), static_cast<I>(i)};
  }
};
template <class T>
struct ElementValue<MinMaxValue<T>> {
  template <class U>
  STRATA_FUNCTION static MinMaxValue<T> of(const U& t, index_t) {
    return {static_cast<T>(t), static_cast<T>(t)};
  }
};
template <class T, class I>
struct ElementValue<MinMaxLocation<T, I>> {
  template <class U>
  STRATA_FUNCTION static MinMaxLocation<T, I> of(const U& t, index_t i) {
    return {static_cast<T>(t), static_cast<T>(t), static_cast<I>(i), static_cast<I>(i)};
  }
};

template <class Call, class F, class... Reducers>
struct TransformElements {
  F transform;

  template <class I, class X>
  STRATA_FUNCTION void operator()(I i, const X& x, typename Reducers::value_type&... value) const {
    const auto t = Call::call(transform, x(i));
    (Reducers::join(value, ElementValue<typename Reducers::value_type>::of(t, index_t(i))), ...);
  }
};
template <class Call, class F, class... Reducers>
struct TransformPairs {
  F transform;

  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& y,
                                  typename Reducers::value_type&... value) const {
    const auto t = Call::call(transform, x(i), y(i));
    (Reducers::join(value, ElementValue<typename Reducers::value_type>::of(t, index_t(i))), ...);
  }
};

template <class F, class... V>
constexpr bool check_transform() {
  constexpr bool callable = std::is_invocable_v<const F&, const typename V::value_type&...>;
  static_assert(
      callable,
      "strata: transform_reduce: the functor cannot be called with an element of each view: give it a "
      "const operator() that takes const T& (, const U&)");
  return callable;
}

template <class... A>
void reduce_anywhere(const char* label, const Anywhere&, A&&... arguments) {
  parallel_reduce(label, static_cast<A&&>(arguments)...);
}
template <class D, class... A>
void reduce_anywhere(const char* label, const On<D>& where, A&&... arguments) {
  parallel_reduce(label, where, static_cast<A&&>(arguments)...);
}

// `bind(kernel)` adds the views. Without a reducer the sum, of type T, is returned.
template <template <class, class, class...> class Kernel, class D, class T, class Where, class F, class Bind,
          class... R>
auto launch_transform_reduce(const char* label, const Where& where, const Range& indices, const F& transform,
                             const Bind& bind, const R&... reducers) {
  static_assert(
      (is_reducer_v<R> && ...),
      "strata: transform_reduce: results are named reducers, such as Sum(result); for none the sum is "
      "returned");
  KernelCallOf<D>::template check<F>();
  if constexpr (sizeof...(R) == 0) {
    T sum{};
    launch_transform_reduce<Kernel, D, T>(label, where, indices, transform, bind, Sum(sum));
    return sum;
  } else {
    reduce_anywhere(label, where, indices, bind(Kernel<KernelCallOf<D>, F, R...>{transform}), reducers...);
  }
}

template <class Where, class X, class F, class... R>
auto transform_reduce_of(const char* label, const Where& where, const X& x, const F& transform,
                         const R&... reducers) {
  if constexpr (check_transform<F, X>()) {
    require_rank_one("transform_reduce", x);
    using T = std::remove_cvref_t<std::invoke_result_t<const F&, const typename X::value_type&>>;
    return launch_transform_reduce<TransformElements, typename DeviceFor<Where, X>::type, T>(
        label, where, range(x.begin(0), x.end(0)), transform,
        [&](const auto& kernel) { return with(kernel, x); }, reducers...);
  }
}
template <class Where, class X, class Y, class F, class... R>
auto transform_reduce_of_pairs(const char* label, const Where& where, const X& x, const Y& y,
                               const F& transform, const R&... reducers) {
  if constexpr (check_transform<F, X, Y>()) {
    require_rank_one("transform_reduce", x);
    require_rank_one("transform_reduce", y);
    require_same_indices("transform_reduce", x, y);
    using T = std::remove_cvref_t<
        std::invoke_result_t<const F&, const typename X::value_type&, const typename Y::value_type&>>;
    return launch_transform_reduce<TransformPairs, typename DeviceFor<Where, X>::type, T>(
        label, where, range(x.begin(0), x.end(0)), transform,
        [&](const auto& kernel) { return with(kernel, x, y); }, reducers...);
  }
}

// Of one view or of two.
template <class Where, AnyView X, class Next, class... Rest>
auto transform_reduce_of_views(const char* label, const Where& where, const X& x, const Next& next,
                               const Rest&... rest) {
  if constexpr (AnyView<Next>) return transform_reduce_of_pairs(label, where, x, next, rest...);
  else return transform_reduce_of(label, where, x, next, rest...);
}

}  // namespace detail

/// transform_reduce([on(...),] x, transform, reducers...), transform_reduce([on(...),] x, y, transform,
/// reducers...). Joins the values of `transform` for the elements of x, or for the pairs of elements of x and
/// y; returns the sum where no reducers are given. ShapeMismatch where the indices of x and y differ.
template <detail::OnOrView First, class Second, class... Rest>
auto transform_reduce(const First& first, const Second& second, const Rest&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::transform_reduce_of_views(detail::label_of(first, "transform_reduce"), first, second,
                                             rest...);
  else
    return detail::transform_reduce_of_views("transform_reduce", detail::Anywhere{}, first, second, rest...);
}

}  // namespace strata::inline STRATA_ABI
