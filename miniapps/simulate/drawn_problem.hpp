// DrawnProblem: a factorization or product over tiles and a machine, drawn at random, and what schedulers
// make of it. For strata-simulate-drawn and the tests of data-aware.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <strata/algorithms/tasks/plan/tiled.hpp>
#include <strata/algorithms/tasks/simulator/simulator.hpp>

namespace strata::inline STRATA_ABI::simulate {

/// A number from the first to the second one, both included.
using Draw = std::function<index_t(index_t, index_t)>;

/// What is drawn.
struct DrawnLimits {
  int most_tiles = 30;       ///< of a side; two thirds of it for gemm
  index_t most_devices = 4;  ///< each of the same memory
  bool has_speeds = true;    ///< in a third of the draws, devices of a tenth to all of the speed of the first
};

/// See the head of the file.
struct DrawnProblem {
  tasks::TiledGraph tiled;
  tasks::Machine machine;
  double memory_tiles;         ///< of a device
  std::vector<double> speeds;  ///< of devices, the first one's 1

  /// Bytes that no order loads less than, on one device.
  double bound() const;
  /// How many bytes data-aware is to load at most: 1.8 times the bound, twice the bound below 100 tiles.
  double target() const { return (memory_tiles < 100 ? 2.0 : 1.8) * bound(); }
  /// Whether one device has the problem and the bound says more than that each array is loaded once.
  bool is_bounded() const;
};

/// One to `most_devices` devices of 20 tiles to a third of all, over one link, or a link each, that moves
/// what they compute with in 0.2 to 4 times the time of the work; and in half of the draws links between
/// neighbours.
DrawnProblem draw_problem(const Draw& draw, const DrawnLimits& limits);

/// What a scheduler makes of it.
struct DrawnRun {
  std::string scheduler;
  double seconds;
  index_t bytes;  ///< to devices
};
/// Of all schedulers, or only of one.
std::vector<DrawnRun> run_all(const DrawnProblem& problem, const std::string& only = "");
/// Seconds of data-aware over those of the fastest of the others.
double ratio_to_best(const std::vector<DrawnRun>& runs);

}  // namespace strata::inline STRATA_ABI::simulate
