// RansacSettings: the options of strata-ransac.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/ransac/fit.hpp>

namespace strata::inline STRATA_ABI::ransac {

struct RansacSettings {
  miniapp::CommonSettings common;  ///< of these `device`, `json`, `verify` and `quiet`
  std::string input;               ///< a file of vectors; empty: made
  index_t vectors = 5922;          ///< the size of the suite's input
  std::string scale = "1";         ///< times as many
  index_t seed = 2020;
  index_t iterations = 2000;
  index_t error = 3;
  double convergence = 0.75;
  std::string mode = "dynamic", memory = "managed", host = "none";
  std::string alpha;    ///< empty: 0.01 beside a host, as in the paper on unified memory
  index_t threads = 0;  ///< of the host; 0: all
  index_t teams = 0, team_size = 0;
  index_t repetitions = 1, warm_up = 0;
};

/// Declares them.
void declare(miniapp::Options& options, RansacSettings& settings);

/// The vectors, read or made, and what is done with them. UsageError.
Problem problem_of(const RansacSettings& settings);

/// What is asked for, but for the problem, the host and the number of its threads. UsageError for what is out
/// of range or does not fit together.
FitRequest request_of(const RansacSettings& settings);

}  // namespace strata::inline STRATA_ABI::ransac
