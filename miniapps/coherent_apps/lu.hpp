// Doolittle's factors of a matrix, without pivoting: L, whose diagonal of ones is not stored, below U.
//
// As the paper's program for skeletons: the matrix is an array of N^2 + 1 numbers, the last of which counts
// the steps, so that a kernel learns from its data which step it is at. Each step is two MapArrays between
// the matrix and a second array, and a third array has the place of each work item.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/algorithms/coherent_launch.hpp>
#include <strata/algorithms/random.hpp>
#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/report.hpp>
#include <strata/views/coherent/coherent_array.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// Element `place` of the matrix: random, with a diagonal that dominates its row; 0, the counter, at the end.
inline float matrix_element(index_t rows, index_t place) {
  constexpr std::uint64_t seed = 1854;
  if (place == rows * rows) return 0;
  const float value = random(seed, place).uniform<float>() - 0.5F;
  return place % (rows + 1) == 0 ? value + static_cast<float>(rows) : value;
}

/// The place of each work item.
struct NumberPlaces {
  STRATA_FUNCTION void operator()(index_t i, const auto& places) const {
    places(i) = static_cast<std::int32_t>(i);
  }
};

/// Where an element is, and the step that the matrix is at.
struct LuPlace {
  std::int32_t row, column, step;
  bool is_counter;

  STRATA_FUNCTION LuPlace(std::int32_t rows, std::int32_t place, const auto& matrix)
      : row(place / rows),
        column(place - row * rows),
        step(static_cast<std::int32_t>(matrix(rows * rows))),
        is_counter(place == rows * rows) {}
};

/// The first half of a step: the column of L, its elements over the pivot; all else as it was.
struct DivideByPivot {
  std::int32_t rows;

  STRATA_FUNCTION void operator()(index_t i, const auto& matrix, const auto& places, const auto& next) const {
    const std::int32_t place = places(i);
    const LuPlace at(rows, place, matrix);
    float value = matrix(place);
    if (!at.is_counter && at.column == at.step && at.row > at.step) value /= matrix(at.step * rows + at.step);
    next(i) = value;
  }
};

/// The second half: what is right of that column and below its row, less their product; the next step.
struct Eliminate {
  std::int32_t rows;

  STRATA_FUNCTION void operator()(index_t i, const auto& matrix, const auto& places, const auto& next) const {
    const std::int32_t place = places(i);
    const LuPlace at(rows, place, matrix);
    float value = matrix(place);
    if (at.is_counter) value += 1;
    else if (at.column > at.step && at.row > at.step)
      value -= matrix(at.row * rows + at.step) * matrix(at.step * rows + at.column);
    next(i) = value;
  }
};

/// The values are the factors, with the counter.
template <class Where, class Memory>
AppOutcome run_lu(const Where& where, const Memory& memory, const AppRequest& request) {
  AppOutcome outcome;
  const double start = miniapp::now_seconds();
  const index_t rows = request.n, n = rows * rows + 1, steps = request.steps > 0 ? request.steps : rows;
  CoherentArray<float, rank<1>> a("A", n, uninitialized, memory, *request.memory),
      lu("LU", n, uninitialized, memory, *request.memory);
  CoherentArray<std::int32_t, rank<1>> places("places", n, uninitialized, memory, *request.memory);
  {
    const auto matrix = a.write();
    for (index_t place = 0; place < n; ++place) matrix(place) = matrix_element(rows, place);
  }
  launch(where.named("lu: places"), n, NumberPlaces{}, out(places));
  outcome.setup_seconds = miniapp::now_seconds() - start;

  const auto small = static_cast<std::int32_t>(rows);
  for (index_t step = 0; step < steps; ++step) {
    launch(where.named("lu: divide"), n, DivideByPivot{small}, in(a, everything), in(places), out(lu));
    launch(where.named("lu: eliminate"), n, Eliminate{small}, in(lu, everything), in(places), out(a));
  }
  const auto factors = a.read();
  outcome.run_seconds = miniapp::now_seconds() - start - outcome.setup_seconds;

  outcome.launches = 2 * steps;
  for (index_t place = 0; place < n; ++place) outcome.values.push_back(factors(place));
  for (const auto& counters : {a.counters(), lu.counters(), places.counters()}) outcome.traffic += counters;
  return outcome;
}

}  // namespace strata::inline STRATA_ABI::coherent_apps
