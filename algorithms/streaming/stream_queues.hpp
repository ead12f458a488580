// StreamQueues: the three queues of a run: one for each stage of tiles. Those of copies are its own, that of
// kernels is the user's.
#pragma once

#include <strata/algorithms/streaming/stream_job.hpp>

namespace strata::inline STRATA_ABI::detail {

class StreamQueues {
 public:
  /// The job outlives this. No queues for copies yet.
  explicit StreamQueues(const StreamJob& job) : job_(job) {}
  /// Makes those of copies, unless there are some.
  void make();

  QueueState& upload() const { return *upload_; }
  QueueState& compute() const { return job_.compute; }
  QueueState& download() const { return *download_; }

  /// Copies enqueued later begin after what is on the compute queue, which may still use the memory that
  /// buffers were made of.
  void start();
  /// Returns when all is done. Throws what failed.
  void wait();
  /// The same, whatever failed: errors are dropped.
  void wait_for_end();

 private:
  const StreamJob& job_;
  Ref<QueueState> upload_, download_;
};

}  // namespace strata::inline STRATA_ABI::detail
