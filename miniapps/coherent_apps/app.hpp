// What the applications have in common: what is asked for, and what comes back. Plain data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <strata/views/coherent/coherent_array_state.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

/// One of the programs, and what its numbers mean.
struct AppKind {
  const char* name;  ///< "nbody"
  const char* type;  ///< of its numbers, "double"
  const char* n_is;  ///< "bodies"
  index_t n, steps;  ///< where the user gives none
  index_t least_n, most_n;
  const char* limits_are;  ///< the reason for least_n and most_n
  bool has_time;           ///< steps have a `dt`
  double tolerance;        ///< between devices that round differently, over the greatest value
};
/// All of them.
const std::vector<AppKind>& app_kinds();
/// UsageError, with the names that there are.
const AppKind& app_kind(const std::string& name);

/// A run of a program.
struct AppRequest {
  std::string app;
  index_t n = 0, steps = 0;
  double dt = 0;  ///< of a step in time, in the units of the application; nbody and sph have one
  std::optional<MemoryMode> memory = {};  ///< none: as is fastest
};
/// `dt` of the request, or the application's own where that is 0.
double time_step_of(const AppRequest& request);

/// What it computed, and what that took.
struct AppOutcome {
  std::vector<double> values;  ///< what the host read at the end
  double setup_seconds = 0;    ///< arrays, and what the host writes into them
  double run_seconds = 0;      ///< from the first launch of the loop until the host has the result
  index_t launches = 0;        ///< of the loop
  TransferCounters traffic;    ///< of all arrays of the program, set-up included
};
/// Runs a program on the devices that it was made for.
using RunApp = std::function<AppOutcome(const AppRequest&)>;

}  // namespace strata::inline STRATA_ABI::coherent_apps
