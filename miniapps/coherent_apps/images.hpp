// Two numbers that compare images: the correlation coefficient of Pearson (PPMCC), in five reductions over
// the same two arrays, and the mean squared error (MSE), in one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include <strata/algorithms/coherent_reduce.hpp>
#include <strata/algorithms/random.hpp>
#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// The images: one of random greys, between 0 and 1, and another that follows it as far as `share` says, and
/// is otherwise random, too.
struct Images {
  double share;
  static constexpr Images correlated() { return {0.6}; }  ///< PPMCC 0.6
  static constexpr Images alike() { return {0.95}; }

  double x(index_t i) const { return random(seed, i, 0).uniform<double>(); }
  double y(index_t i) const {
    return share * x(i) + std::sqrt(1 - share * share) * random(seed, i, 1).uniform<double>();
  }

 private:
  static constexpr std::uint64_t seed = 1895;
};

struct SumOfValues {
  STRATA_FUNCTION void operator()(index_t i, const auto& a, double& sum) const { sum += a(i); }
};
/// Of differences from the means.
struct SumOfSquares {
  double mean;
  STRATA_FUNCTION void operator()(index_t i, const auto& a, double& sum) const {
    const double difference = a(i) - mean;
    sum += difference * difference;
  }
};
struct SumOfProducts {
  double a_mean, b_mean;
  STRATA_FUNCTION void operator()(index_t i, const auto& a, const auto& b, double& sum) const {
    sum += (a(i) - a_mean) * (b(i) - b_mean);
  }
};
struct SumOfSquaredErrors {
  STRATA_FUNCTION void operator()(index_t i, const auto& a, const auto& b, double& sum) const {
    const double error = a(i) - b(i);
    sum += error * error;
  }
};

/// Both images, filled by the host.
class ImageArrays {
 public:
  template <class Memory>
  ImageArrays(const Memory& memory, const AppRequest& request, const Images& images)
      : x("x", request.n, uninitialized, memory, *request.memory),
        y("y", request.n, uninitialized, memory, *request.memory) {
    const auto to_x = x.write();
    const auto to_y = y.write();
    for (index_t i = 0; i < request.n; ++i) {
      to_x(i) = images.x(i);
      to_y(i) = images.y(i);
    }
  }
  CoherentArray<double, rank<1>> x, y;
};

/// The value is the coefficient, of the last time.
template <class Where, class Memory>
AppOutcome run_ppmcc(const Where& where, const Memory& memory, const AppRequest& request) {
  AppOutcome outcome;
  const double start = miniapp::now_seconds();
  const index_t n = request.n;
  const ImageArrays images(memory, request, Images::correlated());
  const auto &x = images.x, &y = images.y;
  outcome.setup_seconds = miniapp::now_seconds() - start;

  double coefficient = 0;
  for (index_t time = 0; time < request.steps; ++time) {
    double x_mean = 0, y_mean = 0, xy = 0, xx = 0, yy = 0;
    launch_reduce(where.named("ppmcc: mean of x"), n, SumOfValues{}, Sum(x_mean), in(x));
    launch_reduce(where.named("ppmcc: mean of y"), n, SumOfValues{}, Sum(y_mean), in(y));
    x_mean /= static_cast<double>(n);
    y_mean /= static_cast<double>(n);
    launch_reduce(where.named("ppmcc: x y"), n, SumOfProducts{x_mean, y_mean}, Sum(xy), in(x), in(y));
    launch_reduce(where.named("ppmcc: x x"), n, SumOfSquares{x_mean}, Sum(xx), in(x));
    launch_reduce(where.named("ppmcc: y y"), n, SumOfSquares{y_mean}, Sum(yy), in(y));
    coefficient = xy / std::sqrt(xx * yy);
  }
  outcome.run_seconds = miniapp::now_seconds() - start - outcome.setup_seconds;

  outcome.launches = 5 * request.steps;
  outcome.values = {coefficient};
  for (const auto& counters : {x.counters(), y.counters()}) outcome.traffic += counters;
  return outcome;
}

/// The value is the error, of the last time.
template <class Where, class Memory>
AppOutcome run_mse(const Where& where, const Memory& memory, const AppRequest& request) {
  AppOutcome outcome;
  const double start = miniapp::now_seconds();
  const ImageArrays images(memory, request, Images::alike());
  outcome.setup_seconds = miniapp::now_seconds() - start;

  double error = 0;
  for (index_t time = 0; time < request.steps; ++time) {
    double sum = 0;
    launch_reduce(where.named("mse"), request.n, SumOfSquaredErrors{}, Sum(sum), in(images.x), in(images.y));
    error = sum / static_cast<double>(request.n);
  }
  outcome.run_seconds = miniapp::now_seconds() - start - outcome.setup_seconds;

  outcome.launches = request.steps;
  outcome.values = {error};
  for (const auto& counters : {images.x.counters(), images.y.counters()}) outcome.traffic += counters;
  return outcome;
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
