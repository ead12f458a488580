// Algorithms of the standard library on views of rank 1, on the device of the views or on a queue:
//
//   const index_t many = count_if(x, IsPositive{});         // count(x, 3) of those equal to 3
//   const index_t at = min_element(x);                      // max_element; x.end(0) of no elements
//   const index_t left = unique(x);                         // of neighbours that are equal the first stays
//   reverse(x);  rotate(x, first);                          // rotate: x(first) becomes the first element
//   adjacent_difference(x, y);                              // y(i) = x(i) - x(i - 1), y(first) = x(first)
//   transform_inclusive_scan(x, y, f);                      // y(i) = f(x(first)) + ... + f(x(i))
//   reverse(on(queue), x);                                  // each of them: on a queue
//
// Views may have any layout. Those that return an index or a count wait for it; with a further last argument
// it goes into a variable, or into a Value, for which nothing waits: Value<index_t, D> for counts,
// Value<ValueLocation<T>, D> for min_element and max_element (the location of no elements is the largest
// index_t). Functors are called as const. Results do not depend on the number of threads. unique and rotate
// allocate another array of the same size for the call. Launches, ordering and errors are those of
// parallel_for; OutOfMemory for that array.
//
// Part of <strata/sorting.hpp>.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/elements.hpp>
#include <strata/algorithms/find.hpp>
#include <strata/algorithms/packed_elements.hpp>
#include <strata/algorithms/parallel_scan.hpp>
#include <strata/algorithms/transform_reduce.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class Call, class P>
struct CountWhere {
  P predicate;
  template <class T>
  STRATA_FUNCTION index_t operator()(const T& x) const {
    return static_cast<bool>(Call::call(predicate, x)) ? 1 : 0;
  }
};
struct ElementItself {
  template <class T>
  STRATA_FUNCTION T operator()(const T& x) const {
    return x;
  }
};
struct EqualElements {
  template <class T>
  STRATA_FUNCTION bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};
struct SubtractElements {
  template <class T>
  STRATA_FUNCTION T operator()(const T& a, const T& b) const {
    return static_cast<T>(a - b);
  }
};

// Calls f(target): of a count, into `result` or returned.
template <class Where, class X, class P, class Result>
void count_into(const char* label, const Where& where, const X& x, const P& predicate, Result& result) {
  using D = typename DeviceFor<Where, X>::type;
  check_result_memory<D, Result>();
  KernelCallOf<D>::template check<P>();
  if constexpr (check_rank_one<X>() && check_predicate<X, P>()) {
    using Count = CountWhere<KernelCallOf<D>, P>;
    if constexpr (AnyView<Result> || std::is_same_v<Result, index_t>) {
      transform_reduce_of(label, where, x, Count{predicate}, Sum(result));
    } else {
      static_assert(std::is_integral_v<Result>,
                    "strata: the result is neither an integer variable nor a Value of integers");
      index_t count = 0;
      transform_reduce_of(label, where, x, Count{predicate}, Sum(count));
      result = static_cast<Result>(count);
    }
  }
}
template <class Where, AnyView X, class P, class... Result>
auto count_where(const char* label, const Where& where, const X& x, const P& predicate, Result&&... result) {
  return into_or_returned([&](auto& place) { count_into(label, where, x, predicate, place); }, result...);
}

template <class Where, class Make, AnyView X, class... Result>
auto extreme_element(const char* label, const Where& where, const Make& make, const X& x,
                     Result&&... result) {
  using T = typename X::value_type;
  return into_or_returned(
      [&](auto& place) {
        using R = std::remove_cvref_t<decltype(place)>;
        if constexpr (AnyView<R>) {
          static_assert(std::is_same_v<typename R::value_type, ValueLocation<T>>,
                        "strata: min_element, max_element: the result on the device is a "
                        "Value<ValueLocation<T>, D> of the elements' type T");
          transform_reduce_of(label, where, x, ElementItself{}, make(place));
        } else {
          static_assert(std::is_integral_v<R>,
                        "strata: the result is neither an integer variable nor a Value<ValueLocation<T>, D>");
          ValueLocation<T> found{};
          transform_reduce_of(label, where, x, ElementItself{}, make(found));
          // Of no element, or NaNs only, the location is that of none, beyond every index.
          place = static_cast<R>(found.location < x.end(0) ? found.location : x.end(0));
        }
      },
      result...);
}

// ---- kernels

template <class Call, class Equal>
struct KeepFirsts {
  Equal equal;
  index_t first;
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& kept, index_t& count, bool final) const {
    const index_t at = index_t(i);
    if (at > first && static_cast<bool>(Call::call(equal, x(at - 1), x(at)))) return;
    if (final) kept(count) = x(at);
    ++count;
  }
};
struct PutBack {
  template <class I, class X, class Y, class C>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& kept, const C& count) const {
    const index_t k = index_t(i);
    if (k < *count) x(x.begin(0) + k) = kept(k);
  }
};
struct ExchangeEnds {
  template <class I, class X>
  STRATA_FUNCTION void operator()(I i, const X& x) const {
    const index_t a = x.begin(0) + index_t(i), b = x.end(0) - 1 - index_t(i);
    const typename X::value_type kept = x(a);
    x(a) = static_cast<typename X::value_type>(x(b));
    x(b) = kept;
  }
};
struct TakeFrom {
  index_t shift;
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& turned) const {
    const index_t k = index_t(i) + shift, n = x.extent(0);
    turned(index_t(i)) = x(x.begin(0) + (k < n ? k : k - n));
  }
};
template <class Call, class Operation>
struct Differences {
  Operation operation;
  template <class I, class X, class Y>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& y) const {
    const index_t at = index_t(i);
    using T = typename Y::value_type;
    if (at == x.begin(0)) y(at) = static_cast<T>(x(at));
    else y(at) = static_cast<T>(Call::call(operation, x(at), x(at - 1)));
  }
};
template <class Call, class F, bool Inclusive>
struct ScanTransformed {
  static constexpr ScanStores scan_stores = Inclusive ? ScanStores::Through : ScanStores::Before;
  F transform;
  template <class I, class X, class Y, class T>
  STRATA_FUNCTION void operator()(I i, const X&, const Y& y, const T& sum, ScanStore) const {
    y(i) = sum;
  }
  template <class I, class X, class Y, class T>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& y, T& sum, bool final) const {
    const T own = static_cast<T>(Call::call(transform, x(i)));
    if (!Inclusive && final) y(i) = sum;
    sum += own;
    if (Inclusive && final) y(i) = sum;
  }
};

template <class Where, AnyView X, class Equal, class... Result>
auto unique_elements_if(const char* label, const Where& where, const X& x, const Equal& equal,
                        Result&&... result) {
  using D = typename DeviceFor<Where, X>::type;
  using T = typename X::value_type;
  static_assert(std::is_invocable_r_v<bool, const Equal&, const T&, const T&>,
                "strata: unique: the equality cannot be called as equal(const T&, const T&) const and give a "
                "bool");
  static_assert(has_plain_elements<X>,
                "strata: unique: the elements are const, or accessed otherwise than by plain references");
  KernelCallOf<D>::template check<Equal>();
  return into_or_returned(
      [&](auto& place) {
        using R = std::remove_cvref_t<decltype(place)>;
        check_result_memory<D, R>();
        require_rank_one("unique", x);
        const auto kept = packed_like(label, where, x);
        const auto count =
            on_same_instance<View<index_t, typename X::device_type, Extents<>, LayoutRight>>(label, where, x);
        scan_anywhere(label, where, range(x.begin(0), x.end(0)),
                      with(KeepFirsts<KernelCallOf<D>, Equal>{equal, x.begin(0)}, x, kept), Sum(count));
        for_anywhere(label, where, x.extent(0), with(PutBack{}, x, kept, count));
        if constexpr (AnyView<R>) {
          static_assert(std::is_same_v<typename R::value_type, index_t>,
                        "strata: unique: the count on the device is a Value<index_t, D>");
          for_anywhere(label, where, 1, with(CopyValue{}, count, place));
        } else {
          static_assert(std::is_integral_v<R>,
                        "strata: the result is neither an integer variable nor a Value of integers");
          index_t found = 0;
          reduce_anywhere(label, where, 1, with(ReadValue{}, count), Sum(found));
          place = static_cast<R>(found);
        }
      },
      result...);
}

template <class Where, AnyView X, class... Result>
auto unique_elements(const char* label, const Where& where, const X& x, Result&&... result) {
  return unique_elements_if(label, where, x, EqualElements{}, result...);
}

template <class Where, AnyView X>
void reverse_elements(const char* label, const Where& where, const X& x) {
  static_assert(has_plain_elements<X>,
                "strata: reverse: the elements are const, or accessed otherwise than by plain references");
  require_rank_one("reverse", x);
  for_anywhere(label, where, x.extent(0) / 2, with(ExchangeEnds{}, x));
}
template <class Where, AnyView X>
void rotate_elements(const char* label, const Where& where, const X& x, index_t first) {
  static_assert(has_plain_elements<X>,
                "strata: rotate: the elements are const, or accessed otherwise than by plain references");
  require_rank_one("rotate", x);
  if (first < x.begin(0) || first > x.end(0))
    throw_part(x.label(), 0, first, first + 1, x.begin(0), x.end(0));
  if (first == x.begin(0) || first == x.end(0)) return;
  const auto turned = packed_like(label, where, x);
  for_anywhere(label, where, x.extent(0), with(TakeFrom{first - x.begin(0)}, x, turned));
  for_anywhere(label, where, x.extent(0), with(Unpack{}, x, turned));
}
template <class Where, AnyView X, AnyView Y, class Operation = SubtractElements>
void difference_elements(const char* label, const Where& where, const X& x, const Y& y,
                         const Operation& operation = {}) {
  using D = typename DeviceFor<Where, X>::type;
  using T = typename X::value_type;
  static_assert(std::is_invocable_v<const Operation&, const T&, const T&>,
                "strata: adjacent_difference: the operation cannot be called as f(const T&, const T&) const");
  static_assert(!std::is_const_v<typename Y::element_type>,
                "strata: adjacent_difference: the destination has const elements");
  KernelCallOf<D>::template check<Operation>();
  require_rank_one("adjacent_difference", x);
  require_rank_one("adjacent_difference", y);
  require_same_indices("adjacent_difference", x, y);
  require_apart("adjacent_difference", x, y);
  for_anywhere(label, where, range(x.begin(0), x.end(0)),
               with(Differences<KernelCallOf<D>, Operation>{operation}, x, y));
}
template <bool Inclusive, class Where, class X, class Y, class F>
void transform_scan(const char* label, const Where& where, const X& x, const Y& y, const F& transform,
                    const typename Y::value_type& start) {
  using D = typename DeviceFor<Where, X>::type;
  if constexpr (check_transform<F, X>()) {
    KernelCallOf<D>::template check<F>();
    require_rank_one(label, x);
    require_rank_one(label, y);
    require_same_indices(label, x, y);
    scan_anywhere(label, where, range(x.begin(0), x.end(0)),
                  with(ScanTransformed<KernelCallOf<D>, F, Inclusive>{transform}, x, y),
                  sum_of<typename Y::value_type>, start);
  }
}
template <class Where, AnyView X, AnyView Y, class F>
void transform_inclusive(const char* label, const Where& where, const X& x, const Y& y, const F& transform) {
  transform_scan<true>(label, where, x, y, transform, {});
}

}  // namespace detail

/// count_if([on(...),] x, predicate[, result]): the number of elements for which the predicate holds.
template <detail::OnOrView First, class Second, class... Rest>
auto count_if(const First& first, const Second& second, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::count_where(detail::label_of(first, "count_if"), first, second, rest...);
  else return detail::count_where("count_if", detail::Anywhere{}, first, second, rest...);
}
/// The number of elements that are equal to a value. (Of two forms, for the value to become one of the type
/// of the elements where it is given.)
template <AnyView X, class... Result>
auto count(const X& x, const typename X::value_type& value, Result&&... result) {
  return detail::count_where("count", detail::Anywhere{}, x,
                             detail::EqualToValue<typename X::value_type>{value}, result...);
}
template <class D, AnyView X, class... Result>
auto count(const On<D>& where, const X& x, const typename X::value_type& value, Result&&... result) {
  return detail::count_where(detail::label_of(where, "count"), where, x,
                             detail::EqualToValue<typename X::value_type>{value}, result...);
}

/// min_element([on(...),] x[, result]), max_element likewise: the index of the smallest (largest) element, of
/// several that are equal the first. NaNs are not found: of NaNs only, or of no element, it is x.end(0), or
/// in a Value the location of none (ValueLocation).
template <detail::OnOrView First, class... Rest>
auto min_element(const First& first, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::extreme_element(detail::label_of(first, "min_element"), first, MinLoc, rest...);
  else return detail::extreme_element("min_element", detail::Anywhere{}, MinLoc, first, rest...);
}
template <detail::OnOrView First, class... Rest>
auto max_element(const First& first, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::extreme_element(detail::label_of(first, "max_element"), first, MaxLoc, rest...);
  else return detail::extreme_element("max_element", detail::Anywhere{}, MaxLoc, first, rest...);
}

/// unique([on(...),] x[, result]): moves the first of each run of equal neighbours to the front, in order,
/// and gives their number; the elements after them keep their values. unique_if([on(...),] x, equal[,
/// result]): with an equality of your own.
template <detail::OnOrView First, class... Rest>
auto unique(const First& first, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::unique_elements(detail::label_of(first, "unique"), first, rest...);
  else return detail::unique_elements("unique", detail::Anywhere{}, first, rest...);
}
template <detail::OnOrView First, class Second, class... Rest>
auto unique_if(const First& first, const Second& second, Rest&&... rest) {
  if constexpr (detail::is_on_v<First>)
    return detail::unique_elements_if(detail::label_of(first, "unique_if"), first, second, rest...);
  else return detail::unique_elements_if("unique_if", detail::Anywhere{}, first, second, rest...);
}

/// reverse([on(...),] x): the last element becomes the first.
template <detail::OnOrView First, class... Rest>
void reverse(const First& first, const Rest&... rest) {
  if constexpr (detail::is_on_v<First>)
    detail::reverse_elements(detail::label_of(first, "reverse"), first, rest...);
  else detail::reverse_elements("reverse", detail::Anywhere{}, first, rest...);
}
/// rotate([on(...),] x, index): element `index` becomes the first, those before it follow the last.
/// LayoutError where it is no index of x nor x.end(0).
template <detail::OnOrView First, class Second, class... Rest>
void rotate(const First& first, const Second& second, const Rest&... rest) {
  if constexpr (detail::is_on_v<First>)
    detail::rotate_elements(detail::label_of(first, "rotate"), first, second, rest...);
  else detail::rotate_elements("rotate", detail::Anywhere{}, first, second, rest...);
}

/// adjacent_difference([on(...),] x, y[, operation]): y(first) = x(first), y(i) = operation(x(i), x(i - 1)).
/// ShapeMismatch where the indices differ, LayoutError where x and y share memory.
template <detail::OnOrView First, AnyView Second, class... Rest>
void adjacent_difference(const First& first, const Second& second, const Rest&... rest) {
  if constexpr (detail::is_on_v<First>)
    detail::difference_elements(detail::label_of(first, "adjacent_difference"), first, second, rest...);
  else detail::difference_elements("adjacent_difference", detail::Anywhere{}, first, second, rest...);
}

/// transform_inclusive_scan([on(...),] x, y, f): y(i) = f(x(first)) + ... + f(x(i)), in the type of y; x and
/// y may be one array.
template <detail::OnOrView First, AnyView Second, class Third, class... Rest>
void transform_inclusive_scan(const First& first, const Second& second, const Third& third,
                              const Rest&... rest) {
  if constexpr (detail::is_on_v<First>)
    detail::transform_inclusive(detail::label_of(first, "transform_inclusive_scan"), first, second, third,
                                rest...);
  else
    detail::transform_inclusive("transform_inclusive_scan", detail::Anywhere{}, first, second, third,
                                rest...);
}
/// y(i) = start + f(x(first)) + ... + f(x(i - 1)), likewise. (Of two forms, for `start` to become one of the
/// type of y where it is given.)
template <AnyView X, AnyView Y, class F>
void transform_exclusive_scan(const X& x, const Y& y, const F& transform,
                              const typename Y::value_type& start = {}) {
  detail::transform_scan<false>("transform_exclusive_scan", detail::Anywhere{}, x, y, transform, start);
}
template <class D, AnyView X, AnyView Y, class F>
void transform_exclusive_scan(const On<D>& where, const X& x, const Y& y, const F& transform,
                              const typename Y::value_type& start = {}) {
  detail::transform_scan<false>(detail::label_of(where, "transform_exclusive_scan"), where, x, y, transform,
                                start);
}

}  // namespace strata::inline STRATA_ABI
