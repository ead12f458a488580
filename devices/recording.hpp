// Recording: records work for a graph; the interface for devices. Devices of host threads record steps, which
// run one after the other; a device with graphs of its own overrides QueueState::begin_recording.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/allocation.hpp>
#include <strata/core/config.hpp>
#include <strata/core/ref.hpp>

namespace strata::inline STRATA_ABI::detail {

class GraphState;
class QueueState;
struct LaunchInfo;

/// One recorded operation: run() enqueues it on `queue`.
class RecordedStep {
 public:
  virtual ~RecordedStep() = default;
  virtual void run(QueueState& queue) const = 0;
};

/// A recording under way, on one thread.
class Recording : public AllocationKeeper {
 public:
  explicit Recording(QueueState& recorded) : queue(recorded) {}
  virtual ~Recording() = default;
  /// Whether launches and copies become steps; otherwise the device's queue records them by itself.
  virtual bool takes_steps() const = 0;
  /// Takes over `step`.
  virtual void add(RecordedStep* step) = 0;
  virtual Ref<GraphState> finish() = 0;

  /// Branches of a graph: what is recorded between begin_branch() and end_branch() may run at the same time
  /// as the other branches of the fork, after what was recorded before fork(); what is recorded after join()
  /// runs after all of them. Forks nest. Steps run one after the other in any case.
  virtual void fork() {}
  virtual void begin_branch() {}
  virtual void end_branch() noexcept {}
  virtual void join() {}

  QueueState& queue;
};

/// Of the calling thread; null while it records nothing.
inline constinit thread_local Recording* current_recording = nullptr;

/// Throws Error unless `queue` is the one being recorded and the work does not wait.
void check_recordable(const char* what, const QueueState& queue, bool waits);

/// For the launches of devices that record steps: takes over `step`.
void record_step(const LaunchInfo& info, const QueueState& queue, bool waits, RecordedStep* step);

}  // namespace strata::inline STRATA_ABI::detail
