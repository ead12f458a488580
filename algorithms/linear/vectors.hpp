// Operations on vectors: views of rank 1, of any layout, with equal index ranges.
//
//   linear::dot(x, y, result)         result = x . y, of conj(x) where it is complex
//   linear::norm2(x, result)          result = sqrt(x . x)
//   linear::axpy(a, x, y)             y = a x + y
//   linear::axpby(a, x, b, y)         y = a x + b y
//   linear::scale(a, x)               x = a x
//   linear::copy(x, y)                y = x
//
// each also with `on(queue)` or `on(device)` first. A coefficient is a number or a Value on the device. A
// result is a variable of the host (the call waits), a Value, or finalize(f), f being called on the device
// with the number (the bare f does the same); the last two are not waited for, so that scalars stay on the
// device. `dot(x, y)` and `norm2(x)` return the number.
//
// `Backend::Vendor` as the last argument of dot, norm2, axpy and scale uses cuBLAS on Cuda (vendor.hpp says
// when). Sums are in the element type, by the tree of parallel_reduce. Elements may be
// complex: dot takes the conjugate of x, and the norm is real. Ordering is that of parallel_for and
// parallel_reduce. Errors: ShapeMismatch, ExtentError (rank), and those of parallel_for and parallel_reduce.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/algorithms/linear/scalar.hpp>
#include <strata/algorithms/linear/vendor.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/core/complex.hpp>
#include <strata/core/range.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

// The indices of a vector.
template <class X>
Range vector_range(const char* what, const X& x) {
  static_assert(X::extents_type::max_rank_value >= 1, "strata: linear: vectors are views of rank 1");
  if (x.rank() != 1) fail_rank(x.rank(), 1, what);
  return range(x.begin(0), x.end(0));
}
template <class X, class Y>
Range common_range(const char* what, const X& x, const Y& y) {
  static_assert(SameMemoryFor<typename Y::device_type, typename X::device_type>::value);
  const Range rx = vector_range(what, x), ry = vector_range(what, y);
  if (rx.first != ry.first || rx.last != ry.last) {
    const index_t shape_x[] = {x.extent(0)}, shape_y[] = {y.extent(0)};
    fail_shapes(what, x.label(), shape_x, 1, y.label(), shape_y, 1);
  }
  return ry;
}

template <class T>
STRATA_FUNCTION T conjugate(const T& x) {
  return x;
}
template <class T>
STRATA_FUNCTION complex<T> conjugate(const complex<T>& z) {
  return conj(z);
}

template <class X, class Y>
struct DotKernel {
  using device_type = typename Y::device_type;
  using value_type = typename Y::value_type;
  static_assert(std::is_same_v<typename X::value_type, value_type>,
                "strata: linear: the element types of the vectors differ");
  X x;
  Y y;

  STRATA_FUNCTION void operator()(auto i, value_type& sum) const {
    const value_type v = x(i);
    sum += conjugate(v) * y(i);
  }
  STRATA_FUNCTION static void init(value_type& sum) { sum = value_type(0); }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) { sum += other; }
};

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<complex<T>> {
  using type = T;
};
/// The type of magnitudes of elements.
template <class X>
using RealValue = typename RealOf<typename X::value_type>::type;

template <class X>
struct SquaresKernel {
  using device_type = typename X::device_type;
  using value_type = RealValue<X>;
  X x;

  STRATA_FUNCTION void operator()(auto i, value_type& sum) const {
    const typename X::value_type v = x(i);
    if constexpr (is_complex_v<typename X::value_type>) sum += norm(v);
    else sum += v * v;
  }
  STRATA_FUNCTION static void init(value_type& sum) { sum = 0; }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) { sum += other; }
};

// Stores the root of a sum of squares.
template <class V>
struct StoreRoot {
  V target;
  STRATA_FUNCTION void operator()(const typename V::value_type& squares) const {
    *target = std::sqrt(squares);
  }
};
template <class T, class F>
struct FinalizeRoot {
  F finalize;
  STRATA_FUNCTION void operator()(const T& squares) const {
    T root = std::sqrt(squares);
    finalize(root);
  }
};

// y = a x + b y; coefficients 0 and 1 cost nothing.
template <class A, class X, class B, class Y>
struct AxpbyKernel {
  using device_type = typename Y::device_type;
  A a;
  X x;
  B b;
  Y y;

  STRATA_FUNCTION void operator()(auto i) const {
    if constexpr (std::is_same_v<B, ZeroScalar>) y(i) = scaled(i);
    else if constexpr (std::is_same_v<B, OneScalar>) y(i) += scaled(i);
    else y(i) = scaled(i) + b.get() * y(i);
  }

 private:
  STRATA_FUNCTION typename Y::value_type scaled(auto i) const {
    if constexpr (std::is_same_v<A, OneScalar>) return x(i);
    else return a.get() * x(i);
  }
};

template <class Where, class A, class X, class B, class Y>
void launch_axpby(const char* label, const Where& where, const A& a, const X& x, const B& b, const Y& y) {
  const Range all_items = common_range(label, x, y);
  launch_for(label, where, all_items, AxpbyKernel<A, X, B, Y>{a, x, b, y});
}

template <class Where, class A, class X, class Y>
void axpy_by(const Where& where, const A& a, const X& x, const Y& y, Backend backend) {
  const Range all_items = common_range("linear::axpy", x, y);
  if (backend == Backend::Vendor && vendor_axpy(where, a, x, y)) return;
  launch_for("linear::axpy", where, all_items, AxpbyKernel<A, X, OneScalar, Y>{a, x, {}, y});
}
template <class Where, class A, class X>
void scale_by(const Where& where, const A& a, const X& x, Backend backend) {
  const Range all_items = vector_range("linear::scale", x);
  if (backend == Backend::Vendor && vendor_scale(where, a, x)) return;
  launch_for("linear::scale", where, all_items, AxpbyKernel<A, X, ZeroScalar, X>{a, x, {}, x});
}

template <class Where, class X, class Y, class Result>
void dot_into(const Where& where, const X& x, const Y& y, Result&& result, Backend backend) {
  const Range all_items = common_range("linear::dot", x, y);
  if (backend == Backend::Vendor && vendor_dot(where, x, y, result)) return;
  using Kernel = DotKernel<typename X::const_type, typename Y::const_type>;
  launch_reduce_into("linear::dot", where, all_items, Kernel{x, y}, result);
}

template <class Where, class X, class Result>
void norm2_into(const Where& where, const X& x, Result&& result, Backend backend) {
  using T = RealValue<X>;
  static_assert(std::is_floating_point_v<T>,
                "strata: linear::norm2: the elements are float, double or complex");
  const Range all_items = vector_range("linear::norm2", x);
  if (backend == Backend::Vendor && vendor_norm2(where, x, result)) return;
  const SquaresKernel<typename X::const_type> squares{x};
  if constexpr (AnyView<Result>) {
    using V = std::remove_cvref_t<Result>;
    launch_reduce_into("linear::norm2", where, all_items, squares, StoreRoot<V>{result});
  } else if constexpr (std::is_same_v<std::remove_cvref_t<Result>, T>) {
    launch_reduce_into("linear::norm2", where, all_items, squares, result);
    result = std::sqrt(result);
  } else if constexpr (is_finalize_v<std::remove_cvref_t<Result>>) {
    static_assert(!has_finalize_accesses<std::remove_cvref_t<Result>>,
                  "strata: linear::norm2: a finalize functor is given alone, finalize(f)");
    norm2_into(where, x, result.functor, backend);
  } else {
    using F = std::remove_cvref_t<Result>;
    launch_reduce_into("linear::norm2", where, all_items, squares, FinalizeRoot<T, F>{result});
  }
}

}  // namespace detail

namespace linear {

/// result = sum of x(i) y(i), or of conj(x(i)) y(i) where the elements are complex.
template <class D, AnyView X, AnyView Y, class Result>
void dot(const On<D>& where, const X& x, const Y& y, Result&& result, Backend backend = Backend::Strata) {
  strata::detail::dot_into(where, x, y, result, backend);
}
template <AnyView X, AnyView Y, class Result>
void dot(const X& x, const Y& y, Result&& result, Backend backend = Backend::Strata) {
  strata::detail::dot_into(strata::detail::Anywhere{}, x, y, result, backend);
}
template <AnyView X, AnyView Y>
[[nodiscard]] typename Y::value_type dot(const X& x, const Y& y) {
  typename Y::value_type result{};
  dot(x, y, result);
  return result;
}

/// result = the Euclidean norm of x; the squares must not overflow.
template <class D, AnyView X, class Result>
void norm2(const On<D>& where, const X& x, Result&& result, Backend backend = Backend::Strata) {
  strata::detail::norm2_into(where, x, result, backend);
}
template <AnyView X, class Result>
void norm2(const X& x, Result&& result, Backend backend = Backend::Strata) {
  strata::detail::norm2_into(strata::detail::Anywhere{}, x, result, backend);
}
template <AnyView X>
[[nodiscard]] strata::detail::RealValue<X> norm2(const X& x) {
  strata::detail::RealValue<X> result{};
  norm2(x, result);
  return result;
}

/// y = a x + y
template <class D, AnyView X, AnyView Y, strata::detail::ScalarOf<typename Y::value_type> A>
void axpy(const On<D>& where, const A& a, const X& x, const Y& y, Backend backend = Backend::Strata) {
  strata::detail::axpy_by(where, strata::detail::scalar_of<typename Y::value_type>(a), x, y, backend);
}
template <AnyView X, AnyView Y, strata::detail::ScalarOf<typename Y::value_type> A>
void axpy(const A& a, const X& x, const Y& y, Backend backend = Backend::Strata) {
  strata::detail::axpy_by(strata::detail::Anywhere{}, strata::detail::scalar_of<typename Y::value_type>(a), x,
                          y, backend);
}

/// y = a x + b y. y is read, also where b is 0: use `copy` and `scale` for arrays without values.
template <class D, AnyView X, AnyView Y, strata::detail::ScalarOf<typename Y::value_type> A,
          strata::detail::ScalarOf<typename Y::value_type> B>
void axpby(const On<D>& where, const A& a, const X& x, const B& b, const Y& y) {
  using T = typename Y::value_type;
  strata::detail::launch_axpby("linear::axpby", where, strata::detail::scalar_of<T>(a), x,
                               strata::detail::scalar_of<T>(b), y);
}
template <AnyView X, AnyView Y, strata::detail::ScalarOf<typename Y::value_type> A,
          strata::detail::ScalarOf<typename Y::value_type> B>
void axpby(const A& a, const X& x, const B& b, const Y& y) {
  using T = typename Y::value_type;
  strata::detail::launch_axpby("linear::axpby", strata::detail::Anywhere{}, strata::detail::scalar_of<T>(a),
                               x, strata::detail::scalar_of<T>(b), y);
}

/// x = a x
template <class D, AnyView X, strata::detail::ScalarOf<typename X::value_type> A>
void scale(const On<D>& where, const A& a, const X& x, Backend backend = Backend::Strata) {
  strata::detail::scale_by(where, strata::detail::scalar_of<typename X::value_type>(a), x, backend);
}
template <AnyView X, strata::detail::ScalarOf<typename X::value_type> A>
void scale(const A& a, const X& x, Backend backend = Backend::Strata) {
  strata::detail::scale_by(strata::detail::Anywhere{}, strata::detail::scalar_of<typename X::value_type>(a),
                           x, backend);
}

/// y = x, as a kernel: in the order of the queue, and not waited for, unlike deep_copy.
template <class D, AnyView X, AnyView Y>
void copy(const On<D>& where, const X& x, const Y& y) {
  strata::detail::launch_axpby("linear::copy", where, strata::detail::OneScalar{}, x,
                               strata::detail::ZeroScalar{}, y);
}
template <AnyView X, AnyView Y>
void copy(const X& x, const Y& y) {
  strata::detail::launch_axpby("linear::copy", strata::detail::Anywhere{}, strata::detail::OneScalar{}, x,
                               strata::detail::ZeroScalar{}, y);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
