// What threads of a host do of a fit.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/miniapps/ransac/claims.hpp>
#include <strata/miniapps/ransac/fit.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// Vectors and samples where the host reaches them.
struct HostData {
  const FlowVector* vectors;
  index_t size;
  const std::int32_t* samples;
  index_t iterations;
  std::int32_t error, limit;
};

/// Those of a problem itself.
HostData data_of(const Problem& problem);

/// What host threads found and did.
struct HostFound {
  std::vector<Candidate> candidates;  ///< in no order
  Share share;
  index_t tickets = 0;  ///< that they took, also of iterations that are not there
  double seconds = 0;   ///< of all iterations, on all threads
};

/// Iterations [0, end), dealt out to the threads.
HostFound work_off_dealt(const AnyHost& host, index_t threads, const HostData& data, index_t end);

/// What host threads look at while a device takes tickets of the same counter.
struct BesideDevice {
  const std::int64_t* begun = nullptr;  ///< an iteration of late, in memory of the host; null: no device
  index_t teams = 0;                    ///< of the device
};
/// The iterations that the threads claim; thread t has iteration t < claimed.begin already.
HostFound work_off_claimed(const AnyHost& host, index_t threads, const HostData& data, const Claimed& claimed,
                           const BesideDevice& device = {});

/// All of a fit on threads of a host.
FitOutcome fit_on_host(const AnyHost& host, const FitRequest& request);

/// The best of the candidates.
void find_best(FitOutcome& outcome);
/// The same, and sorts them.
void finish(FitOutcome& outcome);

}  // namespace strata::inline STRATA_ABI::ransac
