// What a fit of flow is asked for, and what comes back. Plain data.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/devices/any_host/device.hpp>
#include <strata/miniapps/ransac/problem.hpp>
#include <strata/views/coherent/memory_mode.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// How host threads and teams of the device come by their iterations.
enum class Sharing {
  Static,  ///< a share for each is fixed before; arrays are separate, and copied
  Dynamic  ///< they claim iterations until there are none; arrays are those of both
};

/// A fit; the problem outlives it.
struct FitRequest {
  const Problem* problem = nullptr;
  Sharing sharing = Sharing::Static;
  double alpha = 0;                         ///< of static sharing: the host's share of the iterations, 0 to 1
  MemoryMode memory = MemoryMode::Managed;  ///< of dynamic sharing beside a device: Managed or Mapped
  AnyHost host;                             ///< that works beside the device, or is it
  index_t threads = 0;                      ///< of the host that work beside the device; 0: none
  index_t processors = 0;                   ///< of the host; 0: as many as it says
  index_t teams = 0;                        ///< of the device; 0: as many as it runs at a time
  index_t team_size = 0;                    ///< members; 0: the device's choice
  index_t repetitions = 1;                  ///< timed
  index_t warm_up = 0;                      ///< not timed, before them
};

/// Copies that a program makes; not pages of managed memory that move.
struct CopiedBytes {
  std::uint64_t to_device = 0, to_host = 0;
  friend bool operator==(const CopiedBytes&, const CopiedBytes&) = default;
};
/// Who did what in the last repetition.
struct Share {
  index_t iterations = 0, claims = 0;
};

struct FitOutcome {
  std::vector<Candidate> candidates;  ///< by iteration
  Candidate best{-1, -1};             ///< of them; iteration -1: there is none
  double setup_seconds = 0;           ///< arrays, and what is done once
  std::vector<double> seconds;        ///< of each repetition, until the host knows the best candidate
  Share host, device;
  CopiedBytes setup_copies;  ///< once
  CopiedBytes copies;        ///< in each repetition
  std::uint64_t faults = 0;  ///< of pages, on either side, in the last repetition, where they are counted
};

/// The first iteration that is not the host's with the share `alpha`.
inline index_t host_end(index_t iterations, double alpha) {
  return static_cast<index_t>(alpha * static_cast<double>(iterations));
}

/// Where two lists of candidates differ; empty: nowhere.
std::string difference(const FitOutcome& outcome, const FitOutcome& expected);

}  // namespace strata::inline STRATA_ABI::ransac
