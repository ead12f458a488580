// Recording: records work for a graph; the interface for devices. Devices of host threads record steps, which
// run one after the other; a device with graphs of its own overrides QueueState::begin_recording.
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

  QueueState& queue;
};

/// Of the calling thread; null while it records nothing.
inline constinit thread_local Recording* current_recording = nullptr;

/// Throws Error unless `queue` is the one being recorded and the work does not wait.
void check_recordable(const char* what, const QueueState& queue, bool waits);

/// For the launches of devices that record steps: takes over `step`.
void record_step(const LaunchInfo& info, const QueueState& queue, bool waits, RecordedStep* step);

}  // namespace strata::inline STRATA_ABI::detail
