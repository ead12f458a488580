// The hexahedral gradient as a kernel over views, its data, and its verification.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

#include <strata/strata.hpp>

#include "common/hex_formula.hpp"

namespace perf {

/// The bytes that an element reads and writes: 24 coordinates and 24 gradients.
template <class T>
inline constexpr double hex_bytes = 48 * sizeof(T);

/// Written once, for every device, layout and index type: coordinates (n, 3, 8) to gradients (n, 3, 8).
struct HexGradient {
  STRATA_FUNCTION void operator()(auto i, auto coordinates, auto gradients) const {
    using T = typename decltype(gradients)::value_type;
    hex_gradient<T>([&](int d, int k) { return coordinates(i, d, k); },
                    [&](int d, int k, T value) { gradients(i, d, k) = value; });
  }
};

/// Coordinate d of node k of element i: a unit cube with every node moved a little, the elements in a row.
template <class T>
STRATA_FUNCTION T hex_coordinate(strata::index_t i, int d, int k) {
  const bool upper = d == 0 ? (k % 4 == 1 || k % 4 == 2) : d == 1 ? (k % 4 >= 2) : k >= 4;
  const auto mixed = static_cast<std::uint32_t>(i * 24 + d * 8 + k) * 2654435761U;
  return static_cast<T>((upper ? 1.0 : 0.0) + 0.2 * ((mixed >> 16) / 65536.0 - 0.5));
}

struct FillHexCoordinates {
  STRATA_FUNCTION void operator()(strata::index_t i, auto coordinates) const {
    using T = typename decltype(coordinates)::value_type;
    for (int d = 0; d < 3; ++d)
      for (int k = 0; k < 8; ++k) coordinates(i, d, k) = hex_coordinate<T>(i, d, k);
  }
};

/// About 1000 elements spread over n, then the last few.
struct HexSamples {
  strata::index_t n, step, spread;

  explicit HexSamples(strata::index_t elements)
      : n(elements), step(n > 1000 ? n / 1000 : 1), spread((n + step - 1) / step) {}
  strata::index_t count() const { return spread + std::min<strata::index_t>(n, 16); }
  STRATA_FUNCTION strata::index_t element(strata::index_t s) const {
    return s < spread ? s * step : n - 1 - (s - spread);
  }
  STRATA_FUNCTION void operator()(strata::index_t s, auto gradients, auto picked) const {
    for (int d = 0; d < 3; ++d)
      for (int k = 0; k < 8; ++k) picked(s, d, k) = gradients(element(s), d, k);
  }
};

template <class T, class D, class Layout>
struct HexArrays {
  using Array = strata::MDArrayIn<Layout, T, D, 3, 8>;
  strata::index_t n;
  Array coordinates, gradients;

  explicit HexArrays(strata::index_t elements)
      : n(elements),
        coordinates(strata::create<Array>("coordinates", elements)),
        gradients(strata::create<Array>("gradients", elements)) {
    strata::parallel_for(n, strata::with(FillHexCoordinates{}, coordinates));
    strata::wait(D{});
  }

  /// Enqueues the kernel.
  void launch() const {
    strata::launch(strata::on(D{}), n, HexGradient{}, strata::in(coordinates), strata::out(gradients));
  }

  /// Whether sum_k B_i(k) x_j(k) = 12 V for i = j, else 0, and sum_k B_i(k) = 0, in the samples. V is the
  /// volume by Grandy's formula: three determinants of diagonals.
  bool correct() const {
    const HexSamples samples(n);
    const auto picked =
        strata::create<strata::MDArrayIn<strata::LayoutRight, T, D, 3, 8>>("picked", samples.count());
    strata::parallel_for(samples.count(), strata::with(samples, gradients, picked));
    const auto host = strata::create_mirror_and_copy(picked);
    for (strata::index_t s = 0; s < samples.count(); ++s)
      if (!element_correct(host, s, samples.element(s))) return false;
    return true;
  }

 private:
  template <class Host>
  static bool element_correct(const Host& gradient, strata::index_t at, strata::index_t i) {
    const double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-12;
    const double volume = hex_volume(i);
    for (int d = 0; d < 3; ++d) {
      double sum = 0;
      for (int k = 0; k < 8; ++k) sum += gradient(at, d, k);
      if (!(std::abs(sum) <= tolerance)) return false;
      for (int e = 0; e < 3; ++e) {
        double moment = 0;
        for (int k = 0; k < 8; ++k) moment += double(gradient(at, d, k)) * hex_coordinate<T>(i, e, k);
        if (!(std::abs(moment - (d == e ? 12 * volume : 0)) <= tolerance)) return false;
      }
    }
    return true;
  }

  // Grandy, "Efficient computation of volume of hexahedral cells" (1997), the long-diagonal form:
  // 12 V = |(x6-x1)+(x7-x0), x6-x3, x2-x0| + |x7-x0, (x6-x3)+(x5-x0), x6-x4| + |x6-x1, x5-x0,
  // (x6-x4)+(x2-x0)|
  static double hex_volume(strata::index_t i) {
    struct Vector {
      double v[3];
    };
    const auto edge = [&](int to, int from) {
      Vector r;
      for (int d = 0; d < 3; ++d)
        r.v[d] = double(hex_coordinate<T>(i, d, to)) - double(hex_coordinate<T>(i, d, from));
      return r;
    };
    const auto plus = [](Vector a, Vector b) {
      for (int d = 0; d < 3; ++d) a.v[d] += b.v[d];
      return a;
    };
    const auto det = [](Vector a, Vector b, Vector c) {
      return a.v[0] * (b.v[1] * c.v[2] - b.v[2] * c.v[1]) - a.v[1] * (b.v[0] * c.v[2] - b.v[2] * c.v[0]) +
             a.v[2] * (b.v[0] * c.v[1] - b.v[1] * c.v[0]);
    };
    return (det(plus(edge(6, 1), edge(7, 0)), edge(6, 3), edge(2, 0)) +
            det(edge(7, 0), plus(edge(6, 3), edge(5, 0)), edge(6, 4)) +
            det(edge(6, 1), edge(5, 0), plus(edge(6, 4), edge(2, 0)))) /
           12;
  }
};

}  // namespace perf
