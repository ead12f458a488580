// FactorizeSettings: the options of strata-factorize.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/settings.hpp>
#include <strata/miniapps/factorize/request.hpp>

namespace strata::inline STRATA_ABI::factorize {

struct FactorizeSettings {
  miniapp::CommonSettings
      common;  ///< of these `mesh`, `device`, `type`, `json`, `memory_limit`, `verify`, `quiet`
  static constexpr index_t default_order = 1024, default_seed = 1;

  std::string operation, input, home, host_memory, memory = "default";
  index_t order = default_order, seed = default_seed;
  std::string kernels = "auto", scheduler = "data-aware";
  index_t tile = 0, devices = 1, queues = 4, window = 20000, trials = 1;
  std::string side, triangle;  ///< of trsm; empty: left, lower
  bool transpose = false, unit_diagonal = false;
  index_t rhs = 0;
  bool tf32 = false, with_host = false, overwrite = false;
  std::string graph, task_order, picture;

  FactorizeSettings() { common.mesh = "box:8x9x18"; }
};

/// Declares them.
void declare(miniapp::Options& options, FactorizeSettings& settings);

/// What is asked for; UsageError for settings that make no sense, or not together.
FactorizeRequest request_of(const FactorizeSettings& settings);

}  // namespace strata::inline STRATA_ABI::factorize
