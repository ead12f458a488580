// The arguments that parallel_reduce and parallel_scan pass to a device: the reducer (how values begin and
// join), the body (how a kernel adds to a value) and the finish (what is done with the result).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <strata/algorithms/finalize.hpp>
#include <strata/algorithms/kernel.hpp>
#include <strata/algorithms/reducers.hpp>

namespace strata::inline STRATA_ABI::detail {

// ---- finishes: called once with the joined value, on the thread (or GPU block) that ends the reduction.
// `on_device` is called with the value on the device; where `waits` is true, `on_host` is called on the host
// once the value is there.

template <class T>
struct StoreHost {
  static constexpr bool waits = true;
  T* target;
  STRATA_FUNCTION void on_device(const T&) const {}
  void on_host(const T& value) const { *target = value; }
};
template <class V>
struct StoreView {
  static constexpr bool waits = false;
  V target;
  STRATA_FUNCTION void on_device(const typename V::value_type& value) const { *target = value; }
  void on_host(const typename V::value_type&) const {}
};
struct StoreNothing {
  static constexpr bool waits = false;
  template <class T>
  STRATA_FUNCTION void on_device(const T&) const {}
  template <class T>
  void on_host(const T&) const {}
};
template <class F, class Call = KernelCall>
struct CallFinalize {
  static constexpr bool waits = false;
  F finalize;
  bool apart = false;  // of a functor without accesses
  // Whether the functor and the kernel share no memory that one of them writes, as far as that is known.
  STRATA_FUNCTION bool is_apart() const {
    if constexpr (is_bound_finalize<F>) return finalize.is_apart;
    else return apart;
  }
  template <class T>
  STRATA_FUNCTION void on_device(T& value) const {
    Call::call(finalize, value);
  }
  template <class T>
  void on_host(const T&) const {}
};
template <class F, class Call = KernelCall>
struct CallArrayFinalize {
  static constexpr bool waits = false;
  F finalize;
  template <class T>
  STRATA_FUNCTION void on_device(T* value) const {
    Call::call(finalize, value);
  }
  template <class T>
  void on_host(const T*) const {}
};
template <class T>
struct StoreHostArray {
  static constexpr bool waits = true;
  T* target;
  index_t count;
  STRATA_FUNCTION void on_device(const T*) const {}
  void on_host(const T* value) const {
    for (index_t k = 0; k < count; ++k) target[k] = value[k];
  }
};
template <class V>
struct StoreViewArray {
  static constexpr bool waits = false;
  V target;
  index_t count;
  STRATA_FUNCTION void on_device(const typename V::value_type* value) const {
    for (index_t k = 0; k < count; ++k) target(k) = value[k];
  }
  void on_host(const typename V::value_type*) const {}
};

template <class T>
StoreHost<T> store_in(T* target) {
  return {target};
}
template <AnyView V>
StoreView<V> store_in(const V& target) {
  return {target};
}
inline StoreNothing store_in(NoTarget) { return {}; }

// A finish for a device that calls functions of the user by `Call`.
template <class Call, class Finish>
const Finish& finish_by(const Finish& finish) {
  return finish;
}
template <class Call, class F>
CallFinalize<F, Call> finish_by(const CallFinalize<F>& finish) {
  return {finish.finalize, finish.apart};
}
template <class Call, class F>
CallArrayFinalize<F, Call> finish_by(const CallArrayFinalize<F>& finish) {
  return {finish.finalize};
}

// ---- several values in one: a plain aggregate, so that it is trivially copyable everywhere

template <std::size_t I, class T>
struct Slot {
  T value;
};
template <class, class...>
struct Values;
template <std::size_t... I, class... T>
struct Values<std::index_sequence<I...>, T...> : Slot<I, T>... {
  /// As hosts ask for (devices/host/lane_values.hpp): the number of values where all are numbers, else 0.
  static constexpr int lane_numbers =
      ((std::is_arithmetic_v<T> && sizeof(T) >= 4) && ...) && sizeof...(T) > 1 ? int{sizeof...(T)} : 0;
  template <class F>
  constexpr decltype(auto) with_lane_numbers(const F& f) const {
    return f(this->Slot<I, T>::value...);
  }
};

template <std::size_t I, class T>
STRATA_FUNCTION constexpr T& slot(Slot<I, T>& s) {
  return s.value;
}
template <std::size_t I, class T>
STRATA_FUNCTION constexpr const T& slot(const Slot<I, T>& s) {
  return s.value;
}

template <class, class...>
struct JoinEach;
template <std::size_t... I, class... R>
struct JoinEach<std::index_sequence<I...>, R...> {
  using value_type = Values<std::index_sequence<I...>, typename R::value_type...>;
  STRATA_FUNCTION static void init(value_type& v) { (R::init(slot<I>(v)), ...); }
  STRATA_FUNCTION static void join(value_type& v, const value_type& o) {
    (R::join(slot<I>(v), slot<I>(o)), ...);
  }
};

template <class, class...>
struct FinishEach;
template <std::size_t... I, class... F>
struct FinishEach<std::index_sequence<I...>, F...> : Slot<I, F>... {
  static constexpr bool waits = (F::waits || ...);
  template <class V>
  STRATA_FUNCTION void on_device(V& v) const {
    (slot<I>(*this).on_device(slot<I>(v)), ...);
  }
  template <class V>
  void on_host(const V& v) const {
    (slot<I>(*this).on_host(slot<I>(v)), ...);
  }
};

// Calls the kernel with each value of a Values by itself.
template <class Inner, class>
struct SpreadBody;
template <class Inner, std::size_t... I>
struct SpreadBody<Inner, std::index_sequence<I...>> {
  using index_type = typename Inner::index_type;
  static constexpr bool takes_lanes = Inner::takes_lanes;
  static constexpr bool takes_int = Inner::takes_int;
  static constexpr bool last_index_fastest = Inner::last_index_fastest;
  static constexpr bool writes_views = Inner::writes_views;
  static constexpr bool only_reads = Inner::only_reads;
  static constexpr bool may_reduce_separate = Inner::may_reduce_separate;
  static constexpr std::size_t item_bytes = Inner::item_bytes;
  Inner inner;

  bool are_separate() const { return inner.are_separate(); }
  bool hold_elements(index_t begin, index_t end) const { return inner.hold_elements(begin, end); }
  template <bool Opaque>
  STRATA_FUNCTION ElementBits bits_at(index_t i) const {
    return inner.template bits_at<Opaque>(i);
  }
  ArrayAddresses arrays() const { return inner.arrays(); }
  STRATA_FUNCTION SpreadBody on_arrays(const ArrayAddresses& arrays) const {
    return {inner.on_arrays(arrays)};
  }
  template <class Kernel>
  struct Anchored {
    Kernel kernel;
    template <int Rank, class Values>
    STRATA_FUNCTION void operator()(const index_t (&item)[Rank], Values& values) const {
      kernel(item, slot<I>(values)...);
    }
    template <int Rank>
    STRATA_FUNCTION void set_item(const index_t (&item)[Rank]) {
      kernel.set_item(item);
    }
    STRATA_FUNCTION void take_addresses_if(bool does, const Anchored& other) {
      kernel.take_addresses_if(does, other.kernel);
    }
  };
  template <int Rank>
  requires requires(const Inner& body, const index_t (&item)[Rank]) { body.anchored_at(item); }
  STRATA_FUNCTION auto anchored_at(const index_t (&item)[Rank]) const {
    return Anchored<decltype(inner.anchored_at(item))>{inner.anchored_at(item)};
  }

  // The last argument is the Values; those before it are indices.
  template <class... Arguments>
  STRATA_FUNCTION void operator()(Arguments&&... arguments) const {
    spread([&](auto&&... all_arguments) { inner(all_arguments...); }, arguments...);
  }

 private:
  template <class F, class First, class... Rest>
  STRATA_FUNCTION static void spread(const F& f, First& first, Rest&... rest) {
    if constexpr (sizeof...(Rest) == 0) f(slot<I>(first)...);
    else spread([&](auto&... more) { f(first, more...); }, rest...);
  }
};

/// A reduction by named reducers.
template <class... R>
class ReduceByName {
  using Sequence = std::index_sequence_for<R...>;
  using Finish = FinishEach<Sequence, decltype(store_in(std::declval<typename R::target_type>()))...>;

 public:
  static constexpr bool is_array = false;

  explicit ReduceByName(const R&... reducers) : finish_(make(Sequence(), reducers...)) {}

  template <class D, class Tag, class K, int Rank>
  static constexpr bool callable = can_call<D, Tag, K, Rank, typename R::value_type&...>;
  template <class D, class Tag, class K, int Rank>
  static constexpr bool takes_no_index = detail::takes_no_index<D, Tag, K, Rank, typename R::value_type&...>;
  static constexpr int num_values = static_cast<int>(sizeof...(R));  // that a kernel is handed
  template <class D, class Tag, class K, int Rank>
  static constexpr bool loses_value = loses_values<D, Tag, K, Rank, typename R::value_type&...>;

  template <class Inner>
  static SpreadBody<Inner, Sequence> body(const Inner& inner) {
    return {inner};
  }
  template <class Call>
  static JoinEach<Sequence, R...> reducer() {
    return {};
  }
  const Finish& finish() const { return finish_; }

 private:
  template <std::size_t... I>
  static Finish make(std::index_sequence<I...>, const R&... reducers) {
    return {Slot<I, decltype(store_in(reducers.target))>{store_in(reducers.target)}...};
  }
  Finish finish_;
};

// ---- functors with value_type, init and join

template <class F>
concept HasValueType = requires {
  typename F::value_type;
};
template <class F>
concept HasInit = requires(const F& f, typename F::value_type& v) {
  f.init(v);
};
template <class F>
concept HasJoin = requires(const F& f, typename F::value_type& v, const typename F::value_type& o) {
  f.join(v, o);
};
template <class F, class E = std::remove_extent_t<typename F::value_type>>
concept HasArrayInterface = requires(const F& f, E* v, const E* o) {
  { f.value_count } -> std::convertible_to<index_t>;
  f.init(v);
  f.join(v, o);
};
template <class F>
concept HasStaticJoin = requires(typename F::value_type& v, const typename F::value_type& o) {
  F::init(v);
  F::join(v, o);
};

// Says in one line what a reduction's functor lacks.
template <class K, std::size_t Results>
constexpr bool check_reduce_functor() {
  using F = FunctorOf<K>;
  static_assert(Results <= 1 || !HasValueType<F>,
                "strata: a reduction: a functor with a `value_type` has one result; for several give named "
                "reducers only, Sum(a), Max(b)");
  if constexpr (!HasValueType<F>) {
    static_assert(HasValueType<F>,
                  "strata: a reduction or scan: nothing says how values are joined: give named reducers such "
                  "as Sum(result), or a functor with `value_type`, `init` and `join`");
    return false;
  } else if constexpr (std::is_array_v<typename F::value_type>) {
    static_assert(HasArrayInterface<F>,
                  "strata: a reduction: a functor with `value_type` T[] needs `value_count`, `init(T*)` and "
                  "`join(T*, const T*)`");
    return HasArrayInterface<F>;
  } else if constexpr (!HasInit<F>) {
    static_assert(
        HasInit<F>,
        "strata: a reduction or scan: the functor lacks `init(value_type&)`: you wrote none, or with "
        "other parameters; write `static void init(value_type& value)`");
    return false;
  } else if constexpr (!HasJoin<F>) {
    static_assert(
        HasJoin<F>,
        "strata: a reduction or scan: the functor lacks `join(value_type& update, const value_type& "
        "input)`: you wrote none, or with other parameters; write `static void join(value_type& update, "
        "const value_type& input)`");
    return false;
  } else {
    static_assert(std::is_trivially_copyable_v<typename F::value_type>,
                  "strata: a reduction or scan: the `value_type` must be trivially copyable");
    return std::is_trivially_copyable_v<typename F::value_type> && Results <= 1;
  }
}

// Init and join of a functor; static ones need no copy of it.
template <class F, class Call = KernelCall, bool Static = HasStaticJoin<F>>
struct FunctorReducer {
  using value_type = typename F::value_type;
  explicit FunctorReducer(const F&) {}
  STRATA_FUNCTION static void init(value_type& v) { Call::template init<F>(v); }
  STRATA_FUNCTION static void join(value_type& v, const value_type& o) { Call::template join<F>(v, o); }
};
template <class F, class Call>
struct FunctorReducer<F, Call, false> {
  using value_type = typename F::value_type;
  F functor;
  explicit FunctorReducer(const F& f) : functor(f) {}
  STRATA_FUNCTION void init(value_type& v) const { Call::init_by(functor, v); }
  STRATA_FUNCTION void join(value_type& v, const value_type& o) const { Call::join_by(functor, v, o); }
};
template <class F, class Call>
struct ArrayReducer {
  using element_type = std::remove_extent_t<typename F::value_type>;
  F functor;
  explicit ArrayReducer(const F& f) : functor(f) {}
  STRATA_FUNCTION index_t count() const { return static_cast<index_t>(functor.value_count); }
  STRATA_FUNCTION void init(element_type* v) const { Call::init_by(functor, v); }
  STRATA_FUNCTION void join(element_type* v, const element_type* o) const { Call::join_by(functor, v, o); }
};

/// A reduction by the functor's own init and join.
template <class F, class Finish>
class ReduceByFunctor {
  using T = typename F::value_type;

 public:
  static constexpr bool is_array = std::is_array_v<T>;
  using Value = std::conditional_t<is_array, std::remove_extent_t<T>*, T&>;

  ReduceByFunctor(const F& functor, const Finish& finish) : functor_(functor), finish_(finish) {}

  template <class D, class Tag, class K, int Rank>
  static constexpr bool callable = can_call<D, Tag, K, Rank, Value>;
  template <class D, class Tag, class K, int Rank>
  static constexpr bool takes_no_index = detail::takes_no_index<D, Tag, K, Rank, Value>;
  static constexpr int num_values = 1;
  template <class D, class Tag, class K, int Rank>
  static constexpr bool loses_value = loses_values<D, Tag, K, Rank, Value>;

  template <class Inner>
  static const Inner& body(const Inner& inner) {
    return inner;
  }
  template <class Call>
  auto reducer() const {
    if constexpr (is_array) return ArrayReducer<F, Call>(functor_);
    else return FunctorReducer<F, Call>(functor_);
  }
  const Finish& finish() const { return finish_; }

 private:
  const F& functor_;
  Finish finish_;
};

// Chooses the finish by the type of the result: a host variable (or T* for arrays), a view, or a finalize
// functor.
template <class F, class Result>
auto reduce_by_functor(const F& functor, Result&& result) {
  using T = typename F::value_type;
  using R = std::remove_cvref_t<Result>;
  using Element = std::remove_extent_t<T>;
  if constexpr (is_finalize_v<R>) {
    static_assert(
        !has_finalize_accesses<R>,
        "strata: parallel_reduce: a finalize functor is given alone, finalize(f); with accesses it is one of "
        "launch_reduce");
    return reduce_by_functor(functor, result.functor);
  } else if constexpr (std::is_array_v<T>) {
    const auto count = static_cast<index_t>(functor.value_count);
    if (count < 0) fail_extent(0, count, "the value_count of a reduction is not negative");
    if constexpr (std::is_convertible_v<Result, Element*>) {
      return ReduceByFunctor<F, StoreHostArray<Element>>(functor, {result, count});
    } else if constexpr (AnyView<R>) {
      if (result.rank() != 1 || result.extent(0) < count) {
        const index_t shape[] = {result.rank() > 0 ? result.extent(0) : 0};
        fail_shapes("parallel_reduce with a run-time-length value", result.label(), shape, result.rank() > 0,
                    "value_count", &count, 1);
      }
      return ReduceByFunctor<F, StoreViewArray<R>>(functor, {result, count});
    } else if constexpr (std::is_invocable_v<const R&, Element*>) {
      return ReduceByFunctor<F, CallArrayFinalize<R>>(functor, {result});
    } else {
      static_assert(
          std::is_invocable_v<const R&, Element*>,
          "strata: a reduction: the result is neither T*, a view of rank 1, nor a finalize functor that "
          "can be called with T*");
      return ReduceByFunctor<F, StoreNothing>(functor, {});
    }
  } else if constexpr (std::is_same_v<R, T>) {
    constexpr bool assignable =
        std::is_lvalue_reference_v<Result&&> && !std::is_const_v<std::remove_reference_t<Result>>;
    static_assert(
        assignable,
        "strata: a reduction or scan: the result must be a variable that can be assigned: you wrote "
        "a constant or an expression; write Sum(x) of a variable x");
    if constexpr (assignable) return ReduceByFunctor<F, StoreHost<T>>(functor, {&result});
    else return ReduceByFunctor<F, StoreNothing>(functor, {});
  } else if constexpr (AnyView<R>) {
    constexpr bool fits = std::is_same_v<typename R::element_type, T> && R::extents_type::max_rank_value == 0;
    static_assert(fits,
                  "strata: a reduction or scan: the result view is not a Value of the functor's value_type");
    if constexpr (fits) return ReduceByFunctor<F, StoreView<R>>(functor, {result});
    else return ReduceByFunctor<F, StoreNothing>(functor, {});
  } else if constexpr (std::is_invocable_v<const R&, T&>) {
    return ReduceByFunctor<F, CallFinalize<R>>(functor, {result});
  } else {
    static_assert(
        std::is_invocable_v<const R&, T&>,
        "strata: a reduction or scan: the argument for the result is neither a variable of the functor's "
        "value_type, a "
        "Value of it, nor a finalize functor callable with it (const operator()(const value_type&))");
    return ReduceByFunctor<F, StoreNothing>(functor, {});
  }
}

}  // namespace strata::inline STRATA_ABI::detail
