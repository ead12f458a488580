// Modified Gram-Schmidt as in figure 12 of the Kokkos Array paper, by the library: reductions whose results
// are finalized on the device, so that no scalar comes back to the host. With verification.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <strata/algorithms/linear/gram_schmidt.hpp>
#include <strata/strata.hpp>

namespace perf {

/// The bytes that the kernels ask for: of each column, one read by its norm; of each group of columns after
/// it, they and the column read by the dots, both read and they written by taking it out; the column written
/// once.
template <class T, class D>
double gram_schmidt_bytes(strata::index_t n, int count) {
  constexpr int at_once = strata::detail::gram_schmidt_columns<D>;
  double columns = 1;  // the last one is read once more to be scaled
  for (int after = 0; after < count; ++after)
    columns += 2.0 + 3.0 * after + 2.0 * ((after + at_once - 1) / at_once);
  return static_cast<double>(n) * sizeof(T) * columns;
}

/// Columns far from parallel: noise in [-1, 1), with some common part. The same on every device.
template <class T>
STRATA_FUNCTION T gram_schmidt_element(strata::index_t i, int k) {
  std::uint64_t mixed = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U +
                        static_cast<std::uint64_t>(k + 1) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebU;
  return static_cast<T>(static_cast<double>(mixed >> 40) / (1 << 23) - 1.0 + (i % 3 == 0 ? 0.25 : 0.0));
}

struct FillColumns {
  int count;
  STRATA_FUNCTION void operator()(strata::index_t i, auto q) const {
    using T = typename decltype(q)::value_type;
    for (int k = 0; k < count; ++k) q(i, k) = gram_schmidt_element<T>(i, k);
  }
};
/// sum = Q(*, a) . Q(*, b)
struct ColumnProduct {
  int a, b;
  STRATA_FUNCTION void operator()(strata::index_t i, auto q, double& sum) const {
    sum += static_cast<double>(q(i, a)) * static_cast<double>(q(i, b));
  }
};
/// The elements of A in every step-th row that Q R misses by more than the tolerance.
struct CountMissed {
  int count;
  strata::index_t step;
  double tolerance;
  STRATA_FUNCTION void operator()(strata::index_t s, auto q, auto r, strata::index_t& missed) const {
    using T = typename decltype(q)::value_type;
    const strata::index_t i = s * step;
    for (int k = 0; k < count; ++k) {
      double sum = -static_cast<double>(gram_schmidt_element<T>(i, k));
      for (int c = 0; c <= k; ++c) sum += static_cast<double>(q(i, c)) * static_cast<double>(r(c, k));
      if (!(sum <= tolerance && sum >= -tolerance)) ++missed;
    }
  }
};

template <class T, class D, class V = strata::MultiVector<T, D>>
struct GramSchmidt {
  strata::index_t n;
  int count;
  V q, r;
  strata::Value<T, D> tmp;

  GramSchmidt(strata::index_t length, int vectors)
      : n(length),
        count(vectors),
        q(strata::create<V>("Q", length, vectors)),
        r(strata::create<V>("R", vectors, vectors)),
        tmp(strata::create_value<strata::Value<T, D>>()) {
    fill();
  }

  /// Q as it was at first.
  void fill() const {
    strata::parallel_for(n, strata::with(FillColumns{count}, q));
    strata::wait(D{});
  }

  void launch() const { strata::linear::gram_schmidt(q, r, tmp); }

  /// Whether Q is orthonormal and Q R = A. Call it after one launch().
  bool correct() const {
    const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-12;
    for (int a = 0; a < count; ++a)
      for (int b = 0; b <= a; ++b) {
        double dot = 0;
        strata::parallel_reduce(n, strata::with(ColumnProduct{a, b}, q), strata::Sum(dot));
        if (!(std::abs(dot - (a == b)) <= tolerance)) return false;
      }
    const strata::index_t step = std::max<strata::index_t>(1, n / 10000);
    strata::index_t missed = 0;
    strata::parallel_reduce((n + step - 1) / step, strata::with(CountMissed{count, step, tolerance}, q, r),
                            strata::Sum(missed));
    return missed == 0;
  }
};

}  // namespace perf
