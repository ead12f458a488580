// StreamQueues: the three queues of a run: one for each stage of tiles. Those of copies are its own, that of
// kernels is the user's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/streaming/stream_job.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamQueues {
 public:
  /// The job must outlive this. No queues for copies yet.
  explicit StreamQueues(const StreamJob& job) : job_(job) {}
  /// Makes the queues of copies, unless there are some.
  void make();

  QueueState& upload() const { return *upload_; }
  QueueState& compute() const { return job_.compute; }
  QueueState& download() const { return *download_; }

  /// Copies enqueued later begin after the work on the compute queue, which may still use the memory of which
  /// buffers were made.
  void start();
  /// Returns when all is done. Throws what failed.
  void wait();
  /// The same, but drops errors.
  void wait_for_end();

 private:
  const StreamJob& job_;
  Ref<QueueState> upload_, download_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
