// data-aware over tile counts, memories, rates, speeds of devices and links drawn at random: how far from the
// lower bound of loads it is, and how far from the best of the other schedulers. docs/scheduling.md has the
// distributions of what strata-simulate-drawn draws in the same way.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include <strata/miniapps/simulate/drawn_problem.hpp>

#include "core/random.hpp"

namespace strata_tests {

namespace {

using namespace strata;
using namespace strata::simulate;

double at(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}
// `target`: what is to be reached, as yet beyond reach for a part of the runs.
void print(const char* what, const std::vector<double>& values, double target) {
  const auto count =
      std::count_if(values.begin(), values.end(), [&](double value) { return value <= target; });
  std::printf(
      "%s, %zu runs: least %.3f, median %.3f, 90 %% below %.3f, 99 %% below %.3f, most %.3f; %.0f %% at most "
      "%g\n",
      what, values.size(), at(values, 0), at(values, 0.5), at(values, 0.9), at(values, 0.99), at(values, 1),
      100.0 * static_cast<double>(count) / static_cast<double>(values.size()), target);
}

// Bytes that data-aware loads on one device, over the most that it is to load.
std::vector<double> drawn_ratios_to_target(const Draw& draw, int count, int most_tiles) {
  std::vector<double> ratios;
  while (static_cast<int>(ratios.size()) < count) {
    const DrawnProblem problem = draw_problem(draw, {most_tiles, 1, false});
    if (!problem.is_bounded()) continue;
    const double bytes = static_cast<double>(run_all(problem, "data-aware").front().bytes);
    EXPECT_GE(bytes, problem.bound() * 0.99);
    ratios.push_back(bytes / problem.target());
  }
  print("bytes loaded over 1.8 (2.0 below 100 tiles) times the bound", ratios, 1);
  return ratios;
}

// Seconds of data-aware, over those of the fastest of the others.
std::vector<double> drawn_ratios_to_best(const Draw& draw, int count, int most_tiles) {
  std::vector<double> ratios;
  for (int k = 0; k < count; ++k) {
    const DrawnProblem problem = draw_problem(draw, {most_tiles, 4, true});
    const std::vector<DrawnRun> runs = run_all(problem);
    const double bound = tasks::bounds_of(problem.tiled.graph, problem.machine).link_seconds;
    for (const DrawnRun& run : runs) EXPECT_GE(run.seconds, (1 - 1e-9) * bound) << run.scheduler;
    ratios.push_back(ratio_to_best(runs));
  }
  print("seconds over the best of the others", ratios, 1.02);
  return ratios;
}

// Always the same in CI, so that a change shows.
Draw repeatable() {
  return [engine = std::mt19937_64(25)](index_t first, index_t last) mutable {
    return first + static_cast<index_t>(engine() % static_cast<std::uint64_t>(last - first + 1));
  };
}

// Bounds are near what was measured: a scheduler that becomes worse misses them.
TEST(DrawnTiles, DataAwareStaysNearTheBoundOfLoads) {
  const std::vector<double> ratios = drawn_ratios_to_target(repeatable(), is_sanitized ? 20 : 100, 20);
  EXPECT_LE(at(ratios, 0.5), is_sanitized ? 0.95 : 0.9);  // of few runs
  EXPECT_LE(at(ratios, 0.9), is_sanitized ? 1.1 : 1.01);
  EXPECT_LE(at(ratios, 1), 1.15);
}
TEST(DrawnTiles, DataAwareTakesAboutAsLongAsTheBestOfTheOthers) {
  const std::vector<double> ratios = drawn_ratios_to_best(repeatable(), is_sanitized ? 12 : 60, 14);
  EXPECT_LE(at(ratios, 0.5), 1.0);
  EXPECT_LE(at(ratios, 0.9), is_sanitized ? 1.04 : 1.02);  // of few runs
  EXPECT_LE(at(ratios, 1), 1.2);
}
TEST(DrawnTilesSlow, DataAwareStaysNearTheBoundOfLoads) {
  Random draw;
  const std::vector<double> ratios = drawn_ratios_to_target(std::ref(draw), trials(300), 50);
  EXPECT_LE(at(ratios, 0.5), 0.9);
  EXPECT_LE(at(ratios, 0.9), 1.0);
  EXPECT_LE(at(ratios, 1), 1.3);
}
TEST(DrawnTilesSlow, DataAwareTakesAboutAsLongAsTheBestOfTheOthers) {
  Random draw;
  const std::vector<double> ratios = drawn_ratios_to_best(std::ref(draw), trials(200), 30);
  EXPECT_LE(at(ratios, 0.5), 1.0);
  EXPECT_LE(at(ratios, 0.9), 1.02);
  EXPECT_LE(at(ratios, 1), 1.3);
}

TEST(DrawnTiles, AreDrawnWithDevicesOfOneSpeedAndOfSeveral) {
  const Draw draw = repeatable();
  std::set<bool> have_speeds;
  for (int k = 0; k < 30; ++k) {
    const DrawnProblem problem = draw_problem(draw, {12, 4, true});
    ASSERT_EQ(problem.speeds.size(), static_cast<std::size_t>(problem.machine.num_devices()));
    for (tasks::DeviceId device = 0; device < problem.machine.num_devices(); ++device)
      EXPECT_DOUBLE_EQ(
          problem.machine.device(device).rates.at("gemm"),
          problem.speeds[static_cast<std::size_t>(device)] * problem.machine.device(0).rates.at("gemm"));
    if (problem.machine.num_devices() > 1)
      have_speeds.insert(*std::min_element(problem.speeds.begin(), problem.speeds.end()) < 1);
  }
  EXPECT_EQ(have_speeds.size(), 2u);
}

}  // namespace

}  // namespace strata_tests
