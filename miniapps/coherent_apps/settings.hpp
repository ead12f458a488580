// CoherentSettings: the options of strata-coherent.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/miniapps/coherent_apps/app.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/settings.hpp>

namespace strata::inline STRATA_ABI::coherent_apps {

struct CoherentSettings {
  miniapp::CommonSettings common;  ///< of these `device`, `json`, `verify` and `quiet`
  std::string app;
  std::string memory = "default";
  index_t n = 0, steps = 0;  ///< 0: as the application has it
  double dt = 0;             ///< likewise
  index_t gpus = 1;          ///< instances of a device, from the one that is named on
  index_t trials = 1;
};

/// Declares them.
void declare(miniapp::Options& options, CoherentSettings& settings);

/// What is asked for; UsageError for what no application can do.
AppRequest request_of(const CoherentSettings& settings);

}  // namespace strata::inline STRATA_ABI::coherent_apps
