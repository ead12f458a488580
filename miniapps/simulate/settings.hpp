// SimulateSettings: the command line of strata-simulate.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::simulate {

struct SimulateSettings {
  std::string workload;     ///< "cholesky" and the like, or a file
  index_t tiles = 0;        ///< of a side
  index_t tile = 1920;      ///< elements of a side of a tile, of 4 bytes
  std::string memory;       ///< of each device; empty: as the machine has
  double memory_tiles = 0;  ///< the same in tiles; 0: not given
  index_t devices = 1;
  std::string machine;  ///< a file
  std::string scheduler = "data-aware";
  std::string priorities = "bottom-level";
  index_t tasks_ahead = 0;      ///< tasks; 0: as the scheduler has it
  index_t tasks_queued = 0;     ///< the same, of eager-prefetch
  double jitter = 0;            ///< of durations, in percent
  index_t seed = 1;             ///< of the jitter
  std::string json;             ///< file of the report; empty: none
  std::string timeline;         ///< file of the timeline; empty: none
  std::string order;            ///< file of the order of tasks over tiles; empty: none
  bool processor_time = false;  ///< of decisions; else by the wall clock
  bool quiet = false;
};

/// Declares them.
void declare(miniapp::Options& options, SimulateSettings& settings);
/// UsageError where settings do not fit each other.
void require_valid(const SimulateSettings& settings);
/// Whether the workload is one over tiles, and no file.
bool is_tiled(const SimulateSettings& settings);

}  // namespace strata::inline STRATA_ABI::simulate
