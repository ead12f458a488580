// Modified Gram-Schmidt as in figure 12 of the Kokkos Array paper: the columns of Q become orthonormal and
// A = Q R, where A is what Q held before.
//
//   for each column i:   R(i,i) = |q_i|,  q_i = q_i / R(i,i)
//     for each j > i:    R(i,j) = q_i . q_j,  q_j = q_j - R(i,j) q_i
//
// Every scalar is finalized on the device: K columns are K (K + 1) launches on one queue, none of which
// waits, so that the whole can be recorded. A column that depends on those before it up to rounding gives a
// direction made of rounding errors; one that is zero stays zero, with R(i,i) = 0.
#pragma once

#include <cmath>

#include <strata/algorithms/linear/place.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/views/create.hpp>
#include <strata/views/multivector.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// sum = Q(*, i) . Q(*, j)
template <class Q>
struct ColumnDot {
  using device_type = typename Q::device_type;
  using value_type = typename Q::value_type;
  Q q;
  index_t i, j;

  STRATA_FUNCTION void operator()(auto p, value_type& sum) const { sum += q(p, i) * q(p, j); }
  STRATA_FUNCTION static void init(value_type& sum) { sum = value_type(0); }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) { sum += other; }
};

/// Q(*, i) *= tmp
template <class Q, class Tmp>
struct ColumnScale {
  using device_type = typename Q::device_type;
  Q q;
  Tmp tmp;
  index_t i;

  STRATA_FUNCTION void operator()(auto p) const { q(p, i) *= *tmp; }
};

/// Q(*, j) += tmp * Q(*, i)
template <class Q, class Tmp>
struct ColumnAdd {
  using device_type = typename Q::device_type;
  Q q;
  Tmp tmp;
  index_t i, j;

  STRATA_FUNCTION void operator()(auto p) const { q(p, j) += *tmp * q(p, i); }
};

/// R(i, i) = sqrt(result); tmp = 1 / R(i, i)
template <class R, class Tmp>
struct FinalizeColumnNorm {
  using T = typename Tmp::value_type;
  R r;
  Tmp tmp;
  index_t i;

  STRATA_FUNCTION void operator()(const T& result) const {
    const T norm = std::sqrt(result);
    r(i, i) = norm;
    *tmp = norm == T(0) ? T(0) : T(1) / norm;
  }
};

/// R(i, j) = result; tmp = -result
template <class R, class Tmp>
struct FinalizeColumnDot {
  using T = typename Tmp::value_type;
  R r;
  Tmp tmp;
  index_t i, j;

  STRATA_FUNCTION void operator()(const T& result) const {
    r(i, j) = result;
    *tmp = -result;
  }
};

template <class Where, class Q, class R, class Tmp>
void launch_gram_schmidt_column(const Where& where, const Q& q, const R& r, const Tmp& tmp, index_t i) {
  const Range rows = range(q.begin(0), q.end(0));
  const index_t last = q.end(1);
  launch_reduce_into("gram_schmidt: norm", where, rows, ColumnDot<Q>{q, i, i},
                     FinalizeColumnNorm<R, Tmp>{r, tmp, i});
  launch_for("gram_schmidt: scale", where, rows, ColumnScale<Q, Tmp>{q, tmp, i});
  for (index_t j = i + 1; j < last; ++j) {
    launch_reduce_into("gram_schmidt: dot", where, rows, ColumnDot<Q>{q, i, j},
                       FinalizeColumnDot<R, Tmp>{r, tmp, i, j});
    launch_for("gram_schmidt: add", where, rows, ColumnAdd<Q, Tmp>{q, tmp, i, j});
  }
}

template <class Q, class R, class Tmp>
void check_gram_schmidt(const Q& q, const R& r, const Tmp& /*tmp*/) {
  using T = typename Q::value_type;
  static_assert(std::is_floating_point_v<T>,
                "strata: linear::gram_schmidt: the elements are float or double");
  static_assert(std::is_same_v<typename R::value_type, T> && std::is_same_v<typename Tmp::value_type, T>,
                "strata: linear::gram_schmidt: the element types of Q, R and the scalar differ");
  static_assert(SameMemoryFor<typename Q::device_type, typename R::device_type>::value &&
                SameMemoryFor<typename Q::device_type, typename Tmp::device_type>::value);
  if (q.rank() != 2) fail_rank(q.rank(), 2, "linear::gram_schmidt: Q");
  if (r.rank() != 2) fail_rank(r.rank(), 2, "linear::gram_schmidt: R");
  if (r.extent(0) != q.extent(1) || r.extent(1) != q.extent(1) || r.begin(0) != q.begin(1) ||
      r.begin(1) != q.begin(1)) {
    const index_t wanted[] = {q.extent(1), q.extent(1)}, found[] = {r.extent(0), r.extent(1)};
    fail_shapes("linear::gram_schmidt", r.label(), found, 2, "R of the columns of Q", wanted, 2);
  }
}

template <class Where, class Q, class R, class Tmp>
void launch_gram_schmidt(const Where& where, const Q& q, const R& r, const Tmp& tmp) {
  check_gram_schmidt(q, r, tmp);
  for (index_t i = q.begin(1); i < q.end(1); ++i) launch_gram_schmidt_column(where, q, r, tmp, i);
}

}  // namespace detail

namespace linear {

/// Orthonormalises the K columns of Q (rank 2) and writes the upper triangle of R (K x K); the rest of R
/// stays. `tmp` holds one scalar between launches. Enqueues, does not wait. ShapeMismatch, ExtentError
/// (rank).
template <class D, AnyView Q, AnyView R, AnyView Tmp>
void gram_schmidt(const On<D>& where, const Q& q, const R& r, const Tmp& tmp) {
  strata::detail::launch_gram_schmidt(where, q, r, tmp);
}
template <AnyView Q, AnyView R, AnyView Tmp>
void gram_schmidt(const Q& q, const R& r, const Tmp& tmp) {
  strata::detail::launch_gram_schmidt(strata::detail::Anywhere{}, q, r, tmp);
}
/// The same with a scalar of its own, allocated at each call.
template <class D, AnyView Q, AnyView R>
void gram_schmidt(const On<D>& where, const Q& q, const R& r) {
  using Tmp = Value<typename Q::value_type, D>;
  strata::detail::launch_gram_schmidt(where, q, r, create<Tmp>("gram_schmidt", on(where.device)));
}
template <AnyView Q, AnyView R>
void gram_schmidt(const Q& q, const R& r) {
  gram_schmidt(on(strata::detail::device_of(q)), q, r);
}

/// Its step i: normalises column i and takes it out of those behind it.
template <class D, AnyView Q, AnyView R, AnyView Tmp>
void gram_schmidt_column(const On<D>& where, const Q& q, const R& r, const Tmp& tmp, index_t i) {
  strata::detail::check_gram_schmidt(q, r, tmp);
  strata::detail::launch_gram_schmidt_column(where, q, r, tmp, i);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
