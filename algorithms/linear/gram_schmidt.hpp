// Modified Gram-Schmidt as in figure 12 of the Kokkos Array paper: the columns of Q become orthonormal and
// A = Q R, where A is what Q held before.
//
//   for each column i:   R(i,i) = |q_i|,  q_i = q_i / R(i,i)
//     for each j > i:    R(i,j) = q_i . q_j,  q_j = q_j - R(i,j) q_i
//
// The columns j of a step do not depend on each other, so that devices with costly launches process four at a
// time: one reduction computes their products with q_i, one kernel subtracts q_i from all of them. That reads
// and writes 3.5 columns for each j; one at a time takes 5. Hosts do better with one: sums of four columns
// side by side are not SIMD lanes. Column i is scaled as it is read, and stored by the last kernel of its
// step.
//
// Every scalar is finalized on the device, and no launch waits, so that all of it can be recorded. A column
// that depends on those before it up to rounding gives a direction made of rounding errors; one that is zero
// stays zero, with R(i,i) = 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include <strata/algorithms/linear/place.hpp>
#include <strata/algorithms/parallel_for.hpp>
#include <strata/algorithms/parallel_reduce.hpp>
#include <strata/views/create.hpp>
#include <strata/views/multivector.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// The columns after q_i that one launch processes. Devices whose index is a lane are hosts.
template <class Device>
inline constexpr int gram_schmidt_columns = is_lane_index_v<typename Device::index_type> ? 1 : 4;
template <class T, int Columns>
struct ColumnSums {
  T column[Columns];
};

/// sum = |Q(*, i)|^2
template <class Q>
struct ColumnNorm : OnlyReads {
  using device_type = typename Q::device_type;
  using value_type = typename Q::value_type;
  Q q;
  index_t i;

  STRATA_FUNCTION void operator()(auto p, value_type& sum) const { sum += q(p, i) * q(p, i); }
  STRATA_FUNCTION static void init(value_type& sum) { sum = value_type(0); }
  STRATA_FUNCTION static void join(value_type& sum, const value_type& other) { sum += other; }
};

/// R(i, i) = sqrt(result); scale = 1 / R(i, i)
template <class R, class Scale>
struct FinalizeColumnNorm {
  using T = typename Scale::value_type;
  R r;
  Scale scale;
  index_t i;

  STRATA_FUNCTION void operator()(const T& result) const {
    const T norm = std::sqrt(result);
    r(i, i) = norm;
    *scale = norm == T(0) ? T(0) : T(1) / norm;
  }
};

/// sums = scale Q(*, i) . Q(*, j), for `count` columns j from `first` on
template <class Q, class Scale>
struct ColumnDots : OnlyReads {
  using device_type = typename Q::device_type;
  static constexpr int columns = gram_schmidt_columns<device_type>;
  using value_type = ColumnSums<typename Q::value_type, columns>;
  Q q;
  Scale scale;
  index_t i, first;
  int count;

  STRATA_FUNCTION void operator()(auto p, value_type& sums) const {
    const auto q_i = *scale * q(p, i);
    // Columns past the last are the first one once more, and their sums are not used: loads that depend on
    // no condition are in flight together.
    for (int k = 0; k < columns; ++k)
      sums.column[k] += q_i * q(p, first + (columns == 1 || k < count ? k : 0));
  }
  STRATA_FUNCTION static void init(value_type& sums) { sums = {}; }
  STRATA_FUNCTION static void join(value_type& sums, const value_type& other) {
    for (int k = 0; k < columns; ++k) sums.column[k] += other.column[k];
  }
};

/// R(i, j) = sums
template <class R>
struct FinalizeColumnDots {
  R r;
  index_t i, first;
  int count;

  template <int Columns>
  STRATA_FUNCTION void operator()(const ColumnSums<typename R::value_type, Columns>& sums) const {
    for (int k = 0; k < Columns; ++k)
      if (k < count) r(i, first + k) = sums.column[k];
  }
};

/// Q(*, j) -= R(i, j) scale Q(*, i), for `count` columns j from `first` on; the last such launch of a step
/// stores scale Q(*, i), too.
template <class Q, class R, class Scale, bool IsLast>
struct ColumnsWithout : HasItemsInFlight<8 / sizeof(typename Q::value_type)> {
  using device_type = typename Q::device_type;
  static constexpr int columns = gram_schmidt_columns<device_type>;
  Q q;
  R r;
  Scale scale;
  index_t i, first;
  int count;

  STRATA_FUNCTION void operator()(auto p) const {
    // All loads before the first store, for which they would have to wait: the compiler must assume that the
    // columns alias.
    auto q_i = *scale * q(p, i);
    decltype(q_i) old[columns];
    typename Q::value_type along[columns];
    for (int k = 0; k < columns; ++k) {
      if (columns > 1 && k >= count) continue;
      old[k] = q(p, first + k);
      along[k] = r(i, first + k);
    }
    for (int k = 0; k < columns; ++k)
      if (columns == 1 || k < count) q(p, first + k) = old[k] - along[k] * q_i;
    if constexpr (IsLast) q(p, i) = q_i;
  }
};

/// Q(*, i) *= scale
template <class Q, class Scale>
struct ColumnScale {
  using device_type = typename Q::device_type;
  Q q;
  Scale scale;
  index_t i;

  STRATA_FUNCTION void operator()(auto p) const { q(p, i) *= *scale; }
};

template <class Where, class Q, class R, class Scale>
void launch_gram_schmidt_column(const Where& where, const Q& q, const R& r, const Scale& scale, index_t i) {
  const Range rows = range(q.begin(0), q.end(0));
  const index_t last = q.end(1);
  launch_reduce_into("gram_schmidt: norm", where, rows, ColumnNorm<Q>{{}, q, i},
                     FinalizeColumnNorm<R, Scale>{r, scale, i});
  if (i + 1 == last) launch_for("gram_schmidt: scale", where, rows, ColumnScale<Q, Scale>{q, scale, i});
  constexpr int columns = gram_schmidt_columns<typename Q::device_type>;
  for (index_t first = i + 1; first < last; first += columns) {
    const bool is_last = last - first <= columns;
    const int count = is_last ? static_cast<int>(last - first) : columns;
    launch_reduce_into("gram_schmidt: dots", where, rows, ColumnDots<Q, Scale>{{}, q, scale, i, first, count},
                       FinalizeColumnDots<R>{r, i, first, count});
    if (is_last)
      launch_for("gram_schmidt: take out", where, rows,
                 ColumnsWithout<Q, R, Scale, true>{{}, q, r, scale, i, first, count});
    else
      launch_for("gram_schmidt: take out", where, rows,
                 ColumnsWithout<Q, R, Scale, false>{{}, q, r, scale, i, first, count});
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
/// stays. `tmp` holds one scalar between launches; without it one is allocated at each call. Enqueues, does
/// not wait. ShapeMismatch, ExtentError (rank).
template <class D, AnyView Q, AnyView R, AnyView... Tmp>
requires(sizeof...(Tmp) <= 1) void gram_schmidt(const On<D>& where, const Q& q, const R& r,
                                                const Tmp&... tmp) {
  if constexpr (sizeof...(Tmp) == 1) {
    strata::detail::launch_gram_schmidt(where, q, r, tmp...);
  } else {
    using Own = Value<typename Q::value_type, D>;
    strata::detail::launch_gram_schmidt(where, q, r, create<Own>("gram_schmidt", on(where.device)));
  }
}
template <AnyView Q, AnyView R, AnyView... Tmp>
requires(sizeof...(Tmp) <= 1) void gram_schmidt(const Q& q, const R& r, const Tmp&... tmp) {
  if constexpr (sizeof...(Tmp) == 1)
    strata::detail::launch_gram_schmidt(strata::detail::Anywhere{}, q, r, tmp...);
  else gram_schmidt(on(strata::detail::device_of(q)), q, r);
}

/// Its step i: normalises column i and subtracts its component from those after it.
template <class D, AnyView Q, AnyView R, AnyView Tmp>
void gram_schmidt_column(const On<D>& where, const Q& q, const R& r, const Tmp& tmp, index_t i) {
  strata::detail::check_gram_schmidt(q, r, tmp);
  strata::detail::launch_gram_schmidt_column(where, q, r, tmp, i);
}

}  // namespace linear
}  // namespace strata::inline STRATA_ABI
