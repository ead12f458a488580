// Named reducers: how values of a reduction are joined, and where the result goes.
//
//   parallel_reduce(n, kernel, Sum(total));              // into a host variable: complete on return
//   parallel_reduce(n, kernel, Max(view));               // into a Value: stays on the device, asynchronous
//   parallel_reduce(n, kernel, Sum(s), MinLoc(least));   // several in one pass: kernel(i, s, least)
//
// The kernel joins its contribution itself: `kernel(i, T& value)` does value += ..., or the like.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <limits>
#include <type_traits>

#include <strata/core/config.hpp>
#include <strata/views/view.hpp>

namespace strata::inline STRATA_ABI {

/// A value and where it was found: an index, or any struct that can be copied, such as one of two indices.
/// Of equal values the smaller location wins; without an operator< one of them, the same in every run and on
/// every device of one kind. NaNs are not found. If nothing is found (no values, NaNs only, or none better
/// than the reducer's start value), the location is the largest I if I is a number, else I().
template <class T, class I = index_t>
struct ValueLocation {
  T value;     ///< what was found
  I location;  ///< where
};

/// The smallest and the largest value.
template <class T>
struct MinMaxValue {
  T min;  ///< the smallest
  T max;  ///< the largest
};

/// The smallest and the largest value, and where they were found; see ValueLocation.
template <class T, class I = index_t>
struct MinMaxLocation {
  T min;           ///< the smallest
  T max;           ///< the largest
  I min_location;  ///< where the smallest was
  I max_location;  ///< where the largest was
};

namespace detail {

// Where nothing was found yet, and whether location a is to be preferred to b.
template <class I>
STRATA_FUNCTION constexpr I nowhere() {
  if constexpr (std::numeric_limits<I>::is_specialized) return std::numeric_limits<I>::max();
  else return I();
}
template <class I>
STRATA_FUNCTION constexpr bool is_before([[maybe_unused]] const I& a, [[maybe_unused]] const I& b) {
  if constexpr (requires {
                  { a < b } -> std::convertible_to<bool>;
                })
    return a < b;
  else return false;
}

template <class T>
STRATA_FUNCTION constexpr bool is_number([[maybe_unused]] const T& x) {
  if constexpr (requires {
                  { x != x } -> std::convertible_to<bool>;
                })
    return !(x != x);
  else return true;
}
// Whether o is to be preferred to v where neither value is less than the other, as with a NaN.
template <class T, class I>
STRATA_FUNCTION constexpr bool wins_tie(const ValueLocation<T, I>& o, const ValueLocation<T, I>& v) {
  return detail::is_number(o.value) && (!detail::is_number(v.value) || is_before(o.location, v.location));
}

template <class T>
STRATA_FUNCTION constexpr T lowest_of() {
  static_assert(
      std::numeric_limits<T>::is_specialized,
      "strata: Min, Max and their like start at a limit of the type: specialise std::numeric_limits for it");
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  else return std::numeric_limits<T>::lowest();
}
template <class T>
STRATA_FUNCTION constexpr T highest_of() {
  static_assert(
      std::numeric_limits<T>::is_specialized,
      "strata: Min, Max and their like start at a limit of the type: specialise std::numeric_limits for it");
  if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
  else return std::numeric_limits<T>::max();
}

struct SumOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = T();
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v += o;
  }
};
struct ProdOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = T(1);
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v *= o;
  }
};
struct MinOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = highest_of<T>();
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v = o < v ? o : v;
  }
};
struct MaxOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = lowest_of<T>();
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v = v < o ? o : v;
  }
};
struct MinMaxOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(MinMaxValue<T>& v) {
    v = {highest_of<T>(), lowest_of<T>()};
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(MinMaxValue<T>& v, const MinMaxValue<T>& o) {
    MinOf::join(v.min, o.min);
    MaxOf::join(v.max, o.max);
  }
};
struct MinLocOf {
  template <class T, class I>
  STRATA_FUNCTION static constexpr void init(ValueLocation<T, I>& v) {
    v = {highest_of<T>(), nowhere<I>()};
  }
  template <class T, class I>
  STRATA_FUNCTION static constexpr void join(ValueLocation<T, I>& v, const ValueLocation<T, I>& o) {
    if (o.value < v.value || (!(v.value < o.value) && wins_tie(o, v))) v = o;
  }
};
struct MaxLocOf {
  template <class T, class I>
  STRATA_FUNCTION static constexpr void init(ValueLocation<T, I>& v) {
    v = {lowest_of<T>(), nowhere<I>()};
  }
  template <class T, class I>
  STRATA_FUNCTION static constexpr void join(ValueLocation<T, I>& v, const ValueLocation<T, I>& o) {
    if (v.value < o.value || (!(o.value < v.value) && wins_tie(o, v))) v = o;
  }
};
struct MinMaxLocOf {
  template <class T, class I>
  STRATA_FUNCTION static constexpr void init(MinMaxLocation<T, I>& v) {
    v = {highest_of<T>(), lowest_of<T>(), nowhere<I>(), nowhere<I>()};
  }
  template <class T, class I>
  STRATA_FUNCTION static constexpr void join(MinMaxLocation<T, I>& v, const MinMaxLocation<T, I>& o) {
    ValueLocation<T, I> least{v.min, v.min_location}, most{v.max, v.max_location};
    MinLocOf::join(least, {o.min, o.min_location});
    MaxLocOf::join(most, {o.max, o.max_location});
    v = {least.value, most.value, least.location, most.location};
  }
};
struct LogicalAndOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = T(true);
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v = v && o;
  }
};
struct LogicalOrOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = T(false);
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v = v || o;
  }
};
struct BitAndOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = static_cast<T>(~T());
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v = static_cast<T>(v & o);
  }
};
struct BitXorOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = T();
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v = static_cast<T>(v ^ o);
  }
};
struct BitOrOf {
  template <class T>
  STRATA_FUNCTION static constexpr void init(T& v) {
    v = T();
  }
  template <class T>
  STRATA_FUNCTION static constexpr void join(T& v, const T& o) {
    v = static_cast<T>(v | o);
  }
};

}  // namespace detail

/// A way to join values of type T, and the target of the result: a host variable, a view or coherent array of
/// rank 0, or none.
template <class Operation, class T, class Target>
struct Reducer {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                "strata: the values of a reduction are trivially copyable and default constructible");
  /// The types of value, target and operation, and the target itself.
  using value_type = T;
  using target_type = Target;
  using operation = Operation;
  Target target;

  /// The neutral value, and the other value joined to the first.
  STRATA_FUNCTION static constexpr void init(T& value) { Operation::init(value); }
  STRATA_FUNCTION static constexpr void join(T& value, const T& other) { Operation::join(value, other); }
};

namespace detail {

template <class>
inline constexpr bool is_reducer_v = false;
template <class Operation, class T, class Target>
inline constexpr bool is_reducer_v<Reducer<Operation, T, Target>> = true;

/// The target of a result that is not wanted.
struct NoTarget {};

// A coherent array (views/coherent), whose header need not be included.
template <class A>
concept IsCoherent = requires {
  typename std::remove_cvref_t<A>::coherent_array_type;
};

template <class Operation>
struct MakeReducer {
  template <class T>
  requires(!AnyView<T> && !IsCoherent<T>) STRATA_FUNCTION constexpr auto operator()(T& result) const {
    static_assert(!std::is_const_v<T>, "strata: the result of a reduction is const; give a variable");
    return Reducer<Operation, std::remove_const_t<T>, T*>{&result};
  }
  template <IsCoherent A>
  auto operator()(const A& result) const {
    static_assert(A::rank == 0, "strata: a reduction's result is a value (a coherent array of rank 0)");
    return Reducer<Operation, typename A::value_type, A>{result};
  }
  template <AnyView V>
  auto operator()(const V& result) const {
    constexpr bool is_value = V::extents_type::max_rank_value == 0;
    static_assert(is_value, "strata: a reduction's result is a Value (a view of rank 0)");
    if constexpr (is_value) return Reducer<Operation, typename V::value_type, V>{result};
    else return Reducer<Operation, typename V::value_type, NoTarget>{};
  }
};

}  // namespace detail

// Sum(result) and its like make reducers; `result` is a host variable or a view of rank 0, and within a team
// a variable of the kernel. Code for GPUs has objects of its own: nvcc does not reach those of the host
// there.
#if defined(__CUDA_ARCH__)
#define STRATA_REDUCER_OBJECT static __device__ constexpr
#else
#define STRATA_REDUCER_OBJECT inline constexpr
#endif
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::SumOf> Sum{};    ///< starts at T()
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::ProdOf> Prod{};  ///< starts at T(1)
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::MinOf> Min{};  ///< starts at the largest value or infinity
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::MaxOf> Max{};  ///< starts at the lowest value or -infinity
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::MinMaxOf> MinMax{};          ///< of MinMaxValue<T>
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::MinLocOf> MinLoc{};          ///< of ValueLocation<T>
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::MaxLocOf> MaxLoc{};          ///< of ValueLocation<T>
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::MinMaxLocOf> MinMaxLoc{};    ///< of MinMaxLocation<T>
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::LogicalAndOf> LogicalAnd{};  ///< starts at true
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::LogicalOrOf> LogicalOr{};    ///< starts at false
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::BitAndOf> BitAnd{};          ///< starts at all ones
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::BitOrOf> BitOr{};            ///< starts at 0
STRATA_REDUCER_OBJECT detail::MakeReducer<detail::BitXorOf> BitXor{};          ///< starts at 0
#undef STRATA_REDUCER_OBJECT

/// A sum of type T whose result is not wanted: for scans without a total.
template <class T>
inline constexpr Reducer<detail::SumOf, T, detail::NoTarget> sum_of{};

}  // namespace strata::inline STRATA_ABI
