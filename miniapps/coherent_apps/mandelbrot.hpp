// The Mandelbrot set: how often z = z^2 + c can be taken before |z| passes 2, for the points c of a picture.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// A square picture: the first shows the whole set, each further one a place at its edge from closer by.
struct Mandelbrot {
  static constexpr std::int32_t most = 1000;  ///< iterations; as many: in the set
  index_t points;                             ///< of a side
  double left, bottom, side;

  static Mandelbrot picture(index_t points, index_t number) {
    constexpr double whole = 2.5, real = -0.743643887037151, imaginary = 0.131825904205330;
    if (number == 0) return {points, -2, -whole / 2, whole};
    double side = whole;
    for (index_t k = 0; k < number; ++k) side *= 0.9;
    return {points, real - side / 2, imaginary - side / 2, side};
  }
  /// The middle of point k of a side that begins at `begin`.
  STRATA_FUNCTION double coordinate(double begin, index_t k) const {
    return begin + (static_cast<double>(k) + 0.5) * (side / static_cast<double>(points));
  }
  STRATA_FUNCTION std::int32_t iterations(double real, double imaginary) const {
    double x = 0, y = 0;
    std::int32_t count = 0;
    for (; count < most && x * x + y * y <= 4; ++count) {
      const double next = x * x - y * y + real;
      y = 2 * x * y + imaginary;
      x = next;
    }
    return count;
  }

  /// Row i, from the bottom, of the picture, and column j.
  STRATA_FUNCTION void operator()(index_t i, index_t j, const auto& counts) const {
    counts(i, j) = iterations(coordinate(left, j), coordinate(bottom, i));
  }
};

/// The values are the iterations of the last picture, row after row.
template <class Where, class Memory>
AppOutcome run_mandelbrot(const Where& where, const Memory& memory, const AppRequest& request) {
  AppOutcome outcome;
  const double start = miniapp::now_seconds();
  const index_t n = request.n;
  CoherentArray<std::int32_t, rank<2>> counts("counts", n, n, uninitialized, memory, *request.memory);
  outcome.setup_seconds = miniapp::now_seconds() - start;

  for (index_t number = 0; number < request.steps; ++number)
    launch(where.named("mandelbrot"), mdrange({n, n}), Mandelbrot::picture(n, number), out(counts));
  const auto picture = counts.read();
  outcome.run_seconds = miniapp::now_seconds() - start - outcome.setup_seconds;

  outcome.launches = request.steps;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = 0; j < n; ++j) outcome.values.push_back(picture(i, j));
  outcome.traffic += counts.counters();
  return outcome;
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
