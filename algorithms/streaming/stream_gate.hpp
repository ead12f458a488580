// StreamGate: a barrier for the runs of several devices that share a launch. A run that fails stops the
// others, so that none waits for it for ever.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamGate {
 public:
  explicit StreamGate(int runs) : runs_(runs) {}
  /// Returns when all runs have arrived as often. False: one has failed, and will not arrive.
  bool arrive();
  /// Notes the current exception, for which this run ends early. The first one counts.
  void fail(int run);
  /// After the end of all runs.
  const std::exception_ptr& error() const { return error_; }
  int failed_run() const { return failed_run_; }

 private:
  const int runs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
  long passed_ = 0;
  std::exception_ptr error_;
  int failed_run_ = -1;
};
/// Thrown by a run that was stopped since another one failed.
struct StreamStopped {};

}  // namespace strata::inline STRATA_ABI::detail::streaming
