// parallel_scan: prefix sums of a kernel's contributions.
//
// The kernel is called as kernel(i, value, final): it adds its contribution to `value`, and where `final` is
// true it may use the prefix: before adding (exclusive) or after (inclusive). It is called once an index with
// `final`, and at most once without. Values join by a named reducer or by the functor's `value_type`, `init`
// and `join`.
//
//   parallel_scan(n, kernel, Sum(total));             // total into a host variable or a Value
//   parallel_scan(n, kernel, Sum(total), start);      // beginning at `start`
//   parallel_scan(n, kernel, sum_of<double>);         // without a total
//   parallel_scan(n, functor);  parallel_scan(n, functor, total);  parallel_scan(n, functor, total, start);
//
//   inclusive_scan(x, y);  exclusive_scan(x, y, start);      // of the elements of a view of rank 1
//   inclusive_scan(on(queue).named("sums"), x, y);           // on a queue, and with a label
//
// The order of joins depends on the range alone (core/scan_order.hpp): floating-point results have the same
// bits on hosts and GPUs, with any number of threads, and in slices, unless a compiler contracts
// multiply-adds of the kernel. Waiting, ranges, options and errors are those of parallel_reduce.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/place.hpp>
#include <strata/algorithms/reduction.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// Instantiated for a kernel that cannot be called so.
template <class V>
struct KernelOfScan {
  static_assert(!std::is_same_v<V, V>,
                "strata: the kernel of a scan cannot be called as kernel(index, value&, bool final) const: "
                "you wrote an operator() that is not const or has other parameters; write `void "
                "operator()(auto i, double& sum, bool final) const` with (the tag,) the index, the views "
                "(of `with`, or one for each access), a reference to the value and a bool (how many: see "
                "KernelOfScan<Views<...>> beside this)");
  static constexpr bool is_right = false;
};

template <class Where, class R, class K, class Reducer, class Finish>
void launch_scan_with(const char* label, const Where& where, const R& work, const K& kernel,
                      const Reducer& reducer, const Finish& finish,
                      const typename Reducer::value_type& start) {
  using D = typename DeviceFor<Where, K>::type;
  using W = WorkOf<R>;
  using T = typename Reducer::value_type;
  static_assert(check_kernel<Where, K>());
  static_assert(W::rank == 1, "strata: a scan: the range has one dimension");
  using Common = CommonKernel<K>;
  using Lanes = ScanLanes<D>;
  using Compiled = std::conditional_t<can_call<Lanes, typename W::tag, Common, 1, T&, bool>, Common, K>;
  constexpr bool callable = can_call<Lanes, typename W::tag, Compiled, 1, T&, bool>;
  if constexpr (!callable) {
    using Given = Views<num_views<K>>;
    static_cast<void>(std::conditional_t<takes_no_index<Lanes, typename W::tag, Compiled, 1, T&, bool>,
                                         IndexOfKernel<Indices<1>, Given>, KernelOfScan<Given>>::is_right);
  }
  if constexpr (callable) {
    static_assert(!loses_values<Lanes, typename W::tag, Compiled, 1, T&, bool>,
                  "strata: the kernel of a scan takes its value by value, so that what it adds is lost: you "
                  "wrote `double sum` or `auto sum`; write `double& sum` or `auto& sum`");
    using B = BodyFor<D, typename W::tag, Compiled, 1, AnyIndexFor<Lanes, Compiled>>;
    Capture views = make_capture<D>();
    CaptureScope scope(views);
    const B body{static_cast<Compiled>(kernel)};
    const Reducer kept_reducer = reducer;
    const auto kept_finish = finish_by<KernelCallOf<D>>(finish);
    scope.end();
    const LaunchInfo info =
        make_info<D>(label, where, views, typeid(FunctorOf<K>).name(), tag_type<typename W::tag>());
    D::execution::scan_range(info, W::get(work), body, kept_reducer, kept_finish, start);
  }
}

// Named reducers.
template <class Where, class R, class K, class Operation, class T, class Target>
void scan_into(const char* label, const Where& where, const R& work, const K& kernel,
               const Reducer<Operation, T, Target>& reducer, const std::type_identity_t<T>& start) {
  launch_scan_with(label, where, work, kernel, reducer, store_in(reducer.target), start);
}
template <class Where, class R, class K, class Operation, class T, class Target>
void scan_into(const char* label, const Where& where, const R& work, const K& kernel,
               const Reducer<Operation, T, Target>& reducer) {
  T start;
  Operation::init(start);
  scan_into(label, where, work, kernel, reducer, start);
}

// Functors with value_type, init and join.
template <class Where, class R, class K, class Result, class Start>
requires(!is_reducer_v<std::remove_cvref_t<Result>>) void scan_into(const char* label, const Where& where,
                                                                    const R& work, const K& kernel,
                                                                    Result&& total, const Start& start) {
  if constexpr (check_reduce_functor<K, 1>()) {
    const auto reducing = reduce_by_functor(functor_of(kernel), total);
    using Call = KernelCallOf<typename DeviceFor<Where, K>::type>;
    launch_scan_with(label, where, work, kernel, reducing.template reducer<Call>(), reducing.finish(), start);
  }
}
template <class Where, class R, class K, class Result>
requires(!is_reducer_v<std::remove_cvref_t<Result>>) void scan_into(const char* label, const Where& where,
                                                                    const R& work, const K& kernel,
                                                                    Result&& total) {
  if constexpr (check_reduce_functor<K, 1>()) {
    typename FunctorOf<K>::value_type start;
    functor_of(kernel).init(start);
    scan_into(label, where, work, kernel, total, start);
  }
}
template <class Where, class R, class K>
void scan_into(const char* label, const Where& where, const R& work, const K& kernel) {
  if constexpr (check_reduce_functor<K, 1>()) {
    typename FunctorOf<K>::value_type start;
    functor_of(kernel).init(start);
    using Call = KernelCallOf<typename DeviceFor<Where, K>::type>;
    launch_scan_with(label, where, work, kernel, FunctorReducer<FunctorOf<K>, Call>(functor_of(kernel)),
                     StoreNothing{}, start);
  }
}

template <class Where, class R, class K, class... Rest>
void scan_labelled(const char* label, const Where& where, const R& work, const K& kernel, Rest&&... rest) {
  if constexpr (!knows_device<Where, K>) {
    static_assert(
        knows_device<Where, K>,
        "strata: parallel_scan: nothing says on which device: you wrote parallel_scan(n, kernel, ...); write "
        "parallel_scan(on(device), n, kernel, ...) or parallel_scan(n, with(kernel, views...), ...), or give "
        "the functor a "
        "`device_type`");
  } else {
    scan_into(label, where, work, kernel, static_cast<Rest&&>(rest)...);
  }
}

// The kernels of inclusive_scan and exclusive_scan.
template <bool Inclusive>
struct ScanElements {
  static constexpr ScanStores scan_stores = Inclusive ? ScanStores::Through : ScanStores::Before;
  template <class I, class X, class Y, class T>
  STRATA_FUNCTION void operator()(I i, const X&, const Y& y, const T& sum, ScanStore) const {
    y(i) = sum;
  }
  template <class I, class X, class Y, class T>
  STRATA_FUNCTION void operator()(I i, const X& x, const Y& y, T& sum, bool final) const {
    const T own = x(i);  // before y(i) is written: x and y may be one array
    if (!Inclusive && final) y(i) = sum;
    sum += own;
    if (Inclusive && final) y(i) = sum;
  }
};

}  // namespace detail

/// Prefix sums of the contributions of `kernel` for the indices of `work`; `rest` is a reducer, or the target
/// of the total and the start. The head of this file has the forms; `label` names the launch in messages and
/// profiles.
template <WorkRange R, class K, class... Rest>
void parallel_scan(const R& work, const K& kernel, Rest&&... rest) {
  detail::scan_labelled("", detail::Anywhere{}, work, kernel, static_cast<Rest&&>(rest)...);
}
template <class D, WorkRange R, class K, class... Rest>
void parallel_scan(const On<D>& where, const R& work, const K& kernel, Rest&&... rest) {
  detail::scan_labelled(where.label, where, work, kernel, static_cast<Rest&&>(rest)...);
}
template <WorkRange R, class K, class... Rest>
void parallel_scan(const char* label, const R& work, const K& kernel, Rest&&... rest) {
  detail::scan_labelled(label, detail::Anywhere{}, work, kernel, static_cast<Rest&&>(rest)...);
}
template <class D, WorkRange R, class K, class... Rest>
void parallel_scan(const char* label, const On<D>& where, const R& work, const K& kernel, Rest&&... rest) {
  detail::scan_labelled(label, where, work, kernel, static_cast<Rest&&>(rest)...);
}

namespace detail {

struct DeviceOfScan {
  template <LacksOn W>
  DeviceOfScan(const W&) {
    static_assert(
        never<W>,
        "strata: parallel_scan: a place is made by on(...): you wrote parallel_scan(device, n, kernel, ...); "
        "write parallel_scan(on(device), n, kernel, ...), as in parallel_scan(on(Threads{}), n, kernel, "
        "Sum(s))");
  }
  template <class W>
  requires(!LacksOn<W>) DeviceOfScan(const W&) {
    static_assert(never<W>,
                  "strata: parallel_scan: no range comes before the kernel: you wrote parallel_scan(kernel, "
                  "n, ...), or a real number for n; write parallel_scan(n, kernel, ...), with on(device) "
                  "before n where nothing else says the device");
  }
};

}  // namespace detail

/// These do not compile: a device or a queue is not a place, or no range comes first.
inline void parallel_scan(detail::DeviceOfScan, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                          detail::AnyOrNone = {}, detail::AnyOrNone = {}) {}
inline void parallel_scan(const char*, detail::DeviceOfScan, detail::AnyOrNone = {}, detail::AnyOrNone = {},
                          detail::AnyOrNone = {}, detail::AnyOrNone = {}) {}

namespace detail {

// Scans the elements of x into y, which has the same index range.
template <bool Inclusive, class Where, class X, class Y>
void scan_elements(const char* label, const Where& where, const X& x, const Y& y,
                   const typename X::value_type& start) {
  static_assert(std::is_same_v<typename X::value_type, typename Y::value_type>,
                "strata: inclusive_scan, exclusive_scan: the element types differ");
  static_assert(X::extents_type::max_rank_value >= 1 && Y::extents_type::max_rank_value >= 1,
                "strata: inclusive_scan, exclusive_scan: the views have rank 1");
  if (x.rank() != 1) fail_rank(x.rank(), 1, label);
  if (y.rank() != 1) fail_rank(y.rank(), 1, label);
  const index_t shape_x[] = {x.extent(0)}, shape_y[] = {y.extent(0)};
  if (shape_x[0] != shape_y[0] || x.begin(0) != y.begin(0))
    fail_shapes(label, x.label(), shape_x, 1, y.label(), shape_y, 1);
  scan_labelled(label, where, range(x.begin(0), x.end(0)), with(ScanElements<Inclusive>{}, x, y),
                sum_of<typename X::value_type>, start);
}

}  // namespace detail

/// y(i) = x(first) + ... + x(i), on the device of the views or on `where`; x and y may be one array.
/// ShapeMismatch where their index ranges differ.
template <AnyView X, AnyView Y>
void inclusive_scan(const X& x, const Y& y) {
  detail::scan_elements<true>("inclusive_scan", detail::Anywhere{}, x, y, {});
}
template <class D, AnyView X, AnyView Y>
void inclusive_scan(const On<D>& where, const X& x, const Y& y) {
  detail::scan_elements<true>(detail::label_of(where, "inclusive_scan"), where, x, y, {});
}
/// y(i) = start + x(first) + ... + x(i-1), likewise.
template <AnyView X, AnyView Y>
void exclusive_scan(const X& x, const Y& y, const typename X::value_type& start = {}) {
  detail::scan_elements<false>("exclusive_scan", detail::Anywhere{}, x, y, start);
}
template <class D, AnyView X, AnyView Y>
void exclusive_scan(const On<D>& where, const X& x, const Y& y, const typename X::value_type& start = {}) {
  detail::scan_elements<false>(detail::label_of(where, "exclusive_scan"), where, x, y, start);
}

}  // namespace strata::inline STRATA_ABI
