// Sparse matrix times vector.
//
//   linear::spmv(A, x, y)             y = A x
//   linear::spmv(a, A, x, b, y)       y = a A x + b y       a, b: numbers, or Values on the device
//
// each also with `on(queue)` or `on(device)` first. x has A.columns() elements and y A.rows(), both counted
// from 0; they must not overlap. Enqueues as parallel_for does. `Backend::Vendor` as the last argument uses
// cuSPARSE on Cuda (vendor.hpp says when). Errors: ShapeMismatch, ExtentError (rank), those of
// parallel_for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/linear/crs.hpp>
#include <strata/algorithms/linear/spmv_kernels.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

template <class V>
void check_spmv_vector(const char* what, const V& v, index_t count) {
  static_assert(V::extents_type::max_rank_value >= 1, "strata: linear::spmv: vectors are views of rank 1");
  if (v.rank() != 1) fail_rank(v.rank(), 1, what);
  if (v.extent(0) == count && v.begin(0) == 0) return;
  const index_t found[] = {v.extent(0)}, wanted[] = {count};
  fail_shapes(what, v.label(), found, 1, "a vector that fits the matrix", wanted, 1);
}

// 0 and 1 as numbers, for libraries.
template <class T, class S>
HostScalar<T> number_of(const S& s) {
  if constexpr (std::is_same_v<S, OneScalar>) return {T(1)};
  else if constexpr (std::is_same_v<S, ZeroScalar>) return {T(0)};
  else return s;
}

template <class Where, class A, class Matrix, class X, class B, class Y>
void launch_spmv(const Where& where, const A& a, const Matrix& matrix, const X& x, const B& b, const Y& y,
                 Backend backend) {
  using T = typename Y::value_type;
  static_assert(SameMemoryFor<typename Y::device_type, typename X::device_type>::value &&
                SameMemoryFor<typename Y::device_type, typename Matrix::device_type>::value);
  check_spmv_vector("linear::spmv: x", x, matrix.columns());
  check_spmv_vector("linear::spmv: y", y, matrix.rows());
  if (matrix.rows() == 0) return;
  if constexpr (
      !requires { a.value.data(); } && !requires { b.value.data(); })
    if (backend == Backend::Vendor && vendor_spmv(where, number_of<T>(a), matrix, x, number_of<T>(b), y))
      return;
  using Rows = CrsRows<Matrix, X>;
  launch_rows("linear::spmv", where, matrix.rows(), matrix.entry_count(),
              SpmvKernel<Rows, A, B, Y>{Rows(matrix, x), a, b, y});
}

}  // namespace detail

namespace linear {

/// y = A x
template <class D, class T, class M, class Ordinal, class Offset, AnyView X, AnyView Y>
void spmv(const On<D>& where, const CrsMatrix<T, M, Ordinal, Offset>& a, const X& x, const Y& y,
          Backend backend = Backend::Strata) {
  strata::detail::launch_spmv(where, strata::detail::OneScalar{}, a, x, strata::detail::ZeroScalar{}, y,
                              backend);
}
template <class T, class M, class Ordinal, class Offset, AnyView X, AnyView Y>
void spmv(const CrsMatrix<T, M, Ordinal, Offset>& a, const X& x, const Y& y,
          Backend backend = Backend::Strata) {
  strata::detail::launch_spmv(strata::detail::Anywhere{}, strata::detail::OneScalar{}, a, x,
                              strata::detail::ZeroScalar{}, y, backend);
}

/// y = alpha A x + beta y; y is read, also where beta is 0.
template <class D, class Alpha, class T, class M, class Ordinal, class Offset, AnyView X, class Beta,
          AnyView Y>
void spmv(const On<D>& where, const Alpha& alpha, const CrsMatrix<T, M, Ordinal, Offset>& a, const X& x,
          const Beta& beta, const Y& y, Backend backend = Backend::Strata) {
  using V = typename Y::value_type;
  strata::detail::launch_spmv(where, strata::detail::scalar_of<V>(alpha), a, x,
                              strata::detail::scalar_of<V>(beta), y, backend);
}
template <class Alpha, class T, class M, class Ordinal, class Offset, AnyView X, class Beta, AnyView Y>
void spmv(const Alpha& alpha, const CrsMatrix<T, M, Ordinal, Offset>& a, const X& x, const Beta& beta,
          const Y& y, Backend backend = Backend::Strata) {
  using V = typename Y::value_type;
  strata::detail::launch_spmv(strata::detail::Anywhere{}, strata::detail::scalar_of<V>(alpha), a, x,
                              strata::detail::scalar_of<V>(beta), y, backend);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
