// WorkerRegion: where the calling thread is in teams of workers: the regions it is in, innermost first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/devices/host/worker.hpp>

namespace strata::inline STRATA_ABI::detail {

struct WorkerRegion {
  const void* team;
  int worker;
  const WorkerRegion* outer;
};

inline constinit thread_local const WorkerRegion* innermost_region STRATA_INITIAL_EXEC = nullptr;

/// Makes the calling thread worker `worker` of a team while it lives.
class EnterWorkerRegion {
 public:
  EnterWorkerRegion(const void* team, int worker) : region_{team, worker, innermost_region}, number_(worker) {
    innermost_region = &region_;
  }
  ~EnterWorkerRegion() { innermost_region = region_.outer; }
  EnterWorkerRegion(const EnterWorkerRegion&) = delete;
  EnterWorkerRegion& operator=(const EnterWorkerRegion&) = delete;

 private:
  WorkerRegion region_;
  HostWorkerScope number_;
};

/// The innermost region of the team that the calling thread is in; null outside.
inline const WorkerRegion* region_of(const void* team) {
  const WorkerRegion* region = innermost_region;
  while (region != nullptr && region->team != team) region = region->outer;
  return region;
}

}  // namespace strata::inline STRATA_ABI::detail
