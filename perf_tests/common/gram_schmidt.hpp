// Modified Gram-Schmidt as in figure 12 of the Kokkos Array paper, by the library: reductions whose results
// are finalized on the device, so that no scalar comes back to the host. With verification.
#pragma once

#include <algorithm>
#include <cmath>

#include <strata/algorithms/linear/gram_schmidt.hpp>
#include <strata/strata.hpp>

namespace perf {

/// The bytes that the kernels ask for: of each column, one read by its norm; of each group of columns behind
/// it, they and the column read by the dots, both read and they written by taking it out; the column written
/// once.
template <class T, class D>
double gram_schmidt_bytes(strata::index_t n, int count) {
  constexpr int at_once = strata::detail::gram_schmidt_columns<D>;
  double columns = 1;  // the last one is read once more to be scaled
  for (int behind = 0; behind < count; ++behind)
    columns += 2.0 + 3.0 * behind + 2.0 * ((behind + at_once - 1) / at_once);
  return static_cast<double>(n) * sizeof(T) * columns;
}

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
    const auto host = strata::create_mirror_view(q);
    for (int k = 0; k < count; ++k)
      for (strata::index_t i = 0; i < n; ++i) host(i, k) = element(i, k);
    strata::deep_copy(q, host);
  }

  void launch() const { strata::linear::gram_schmidt(q, r, tmp); }

  /// Whether Q is orthonormal and Q R = A. Call it after one launch().
  bool correct() const {
    const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-12;
    const auto hq = strata::create_mirror_and_copy(q);
    const auto hr = strata::create_mirror_and_copy(r);
    for (int a = 0; a < count; ++a)
      for (int b = 0; b <= a; ++b) {
        double dot = 0;
        for (strata::index_t i = 0; i < n; ++i) dot += double(hq(i, a)) * double(hq(i, b));
        if (!(std::abs(dot - (a == b)) <= tolerance)) return false;
      }
    for (strata::index_t i = 0; i < n; i += std::max<strata::index_t>(1, n / 10000))
      for (int k = 0; k < count; ++k) {
        double sum = 0;
        for (int c = 0; c <= k; ++c) sum += double(hq(i, c)) * double(hr(c, k));
        if (!(std::abs(sum - element(i, k)) <= tolerance)) return false;
      }
    return true;
  }

 private:
  // Columns far from parallel: noise in [-1, 1), with some common part.
  static T element(strata::index_t i, int k) {
    std::uint64_t mixed = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U +
                          static_cast<std::uint64_t>(k + 1) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebU;
    return static_cast<T>(static_cast<double>(mixed >> 40) / (1 << 23) - 1.0 + (i % 3 == 0 ? 0.25 : 0.0));
  }
};

}  // namespace perf
