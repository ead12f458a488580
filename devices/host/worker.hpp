// The number of the worker that the calling thread is, for data of which kernels keep one copy for each
// worker.
//
// Executors put it in force around the pieces they run: on the threads of a pool it is their number, on the
// thread that called the launch 0, on oneTBB's threads their place in the arena. Of the threads that work on
// one launch no two have the same; launches on different devices, or in different arenas, may use the same
// numbers. A nested launch that runs inline keeps the number of the worker that called it. Read by kernels,
// so this header includes nothing costly.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// -1 where no executor has set it: outside launches, and in those of Serial.
inline constinit thread_local int host_worker STRATA_INITIAL_EXEC = -1;

/// The worker that the calling thread is; 0 outside launches.
inline int current_host_worker() { return host_worker < 0 ? 0 : host_worker; }

/// Makes the calling thread worker `worker` while it lives; restores the former number.
class HostWorkerScope {
 public:
  explicit HostWorkerScope(int worker) : before_(host_worker) { host_worker = worker; }
  ~HostWorkerScope() { host_worker = before_; }
  HostWorkerScope(const HostWorkerScope&) = delete;
  HostWorkerScope& operator=(const HostWorkerScope&) = delete;

 private:
  int before_;
};

}  // namespace strata::inline STRATA_ABI::detail
