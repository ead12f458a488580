// Graph: a recorded sequence of launches, copies and fills that can be enqueued again as one. On GPUs that is
// a CUDA graph, whose kernels follow each other without the cost of a launch; elsewhere a list of steps.
//
//   Graph<D> step = record(queue, [&] {
//     parallel_for(on(queue), n, kernel);           // recorded, not run
//     parallel_reduce(on(queue), n, dot, finalize);
//   });
//   for (int k = 0; k < 100; ++k) step.launch(queue);
//
// The graph owns copies of the kernels and keeps the arrays alive that they use. While it is recorded,
// nothing on the queue may wait: results go into Values or finalize functors, copies name the queue, arrays
// that are created are left uninitialized. No other thread may use the queue meanwhile.
//
// A replay runs in the queue it is given, in order with its other work; the next wait throws errors.
#pragma once

#include <strata/core/device_fence.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/devices/queue.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

/// A recorded graph. Several threads may launch it at once; its replays run one after the other.
class GraphState : public RefCounted {
 public:
  virtual void launch(QueueState& queue) = 0;
  /// Launches, copies and fills in it.
  virtual index_t size() const = 0;
};

/// Records the work that the calling thread enqueues on `queue` between its construction and finish();
/// without finish() the recording is dropped. Throws Error when the thread records already.
class RecordingScope {
 public:
  explicit RecordingScope(QueueState& queue);
  ~RecordingScope();
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;

  Ref<GraphState> finish();

 private:
  // Nothing runs yet: kernels are not reported to tools, which may not wait for the queue.
  const QuietWork quiet_;
  const NoFences no_fences_;
  Recording* recording_;
};

void launch_graph(GraphState& graph, QueueState& queue);

}  // namespace detail

/// A handle to a recorded graph; copies share it.
template <Device D>
class Graph {
 public:
  /// The device that runs it.
  using device_type = D;

  Graph() = default;
  /// A handle to a backend's graph.
  explicit Graph(detail::Ref<detail::GraphState> state) : state_(state) {}

  /// Enqueues all of it. A null graph does nothing.
  void launch(const Queue<D>& queue) const {
    if (state_) detail::launch_graph(*state_, queue.state());
  }
  /// The number of launches, copies and fills.
  index_t size() const { return state_ ? state_->size() : 0; }
  explicit operator bool() const { return static_cast<bool>(state_); }

 private:
  detail::Ref<detail::GraphState> state_;
};

/// Calls work(), recording the work that it enqueues on `queue`. Error for work that cannot be recorded;
/// nothing has run then.
template <Device D, class F>
[[nodiscard]] Graph<D> record(const Queue<D>& queue, F&& work) {
  detail::RecordingScope scope(queue.state());
  static_cast<F&&>(work)();
  return Graph<D>(scope.finish());
}

}  // namespace strata::inline STRATA_ABI
