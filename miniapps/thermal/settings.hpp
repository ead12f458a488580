// ThermalSettings: the options of strata-thermal, and what they mean for a mesh.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/thermal/parameters.hpp>
#include <strata/views/coherent/memory_mode.hpp>

namespace strata::inline STRATA_ABI::thermal {

struct ThermalSettings {
  miniapp::CommonSettings common;
  std::vector<std::string> conductivity, capacity, source;  // "K" or "BLOCK=K"
  std::vector<std::string> dirichlet;                       // "SELECTOR=T"
  std::vector<std::string> flux, convection;                // "SELECTOR=Q", "SELECTOR=H,T"
  double beta = 0, sink = 0, initial = 0;
  std::string transient;  // "DT:STEPS"; empty: steady
  std::string dirichlet_start = "given";
  std::string preconditioner = "jacobi", spmv = "strata", assembly = "gather", memory = "default";
  index_t chebyshev_degree = 3, max_iterations = 20000;
  double tolerance = 1e-12, newton_tolerance = 1e-10;
  index_t trials = 3, output_every = 1;
  index_t devices = 1;

  ThermalSettings() { common.mesh = "box:8x9x18"; }
};

/// Declares them.
void declare(miniapp::Options& options, ThermalSettings& settings);

/// UsageError for what makes no sense whatever the mesh.
void check(const ThermalSettings& settings);

/// A temperature that is given.
struct GivenTemperature {
  std::string selector;
  double value = 0;
  std::string text;  // as the user wrote it
};
/// The list of --dirichlet; of steady problems without any condition, 0 where z is least and 1 where it is
/// greatest. UsageError.
std::vector<GivenTemperature> given_temperatures(const ThermalSettings& settings);

/// Heat that comes in through faces.
struct GivenInflow {
  std::string selector;
  Inflow inflow;
  std::string text;  // "flux at top=3"
};
/// The lists of --flux and --convection. UsageError.
std::vector<GivenInflow> given_inflows(const ThermalSettings& settings);

/// Time steps; none for steady problems.
struct TimeSteps {
  double dt = 0;
  index_t count = 0;
};
TimeSteps time_steps(const ThermalSettings& settings);

/// The problem on a mesh with these blocks; blocks go by name or by number. UsageError names one that is not
/// there.
Problem problem_of(const ThermalSettings& settings, const std::vector<std::string>& block_names,
                   const std::vector<std::int64_t>& block_ids);
/// The memory mode that was asked for. UsageError where these settings cannot have it.
std::optional<MemoryMode> memory_of(const ThermalSettings& settings);
/// How to solve it; `is_float` raises tolerances that float cannot reach.
SolveSettings solve_settings_of(const ThermalSettings& settings, bool is_float);

}  // namespace strata::inline STRATA_ABI::thermal
