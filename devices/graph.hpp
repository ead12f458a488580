// Graph: a recorded sequence of launches, copies and fills that can be enqueued again as one. On GPUs that is
// a CUDA graph, whose kernels follow each other without the cost of a launch; elsewhere a list of steps.
//
//   Graph<D> step = record(queue, [&] {
//     parallel_for(on(queue), n, kernel);           // recorded, not run
//     parallel_reduce(on(queue), n, dot, finalize);
//   });
//   for (int k = 0; k < 100; ++k) step.launch(queue);
//
// The work of a graph may branch:
//
//   when_all(queue, [&] { parallel_for(on(queue), n, a); }, [&] { parallel_for(on(queue), n, b); });
//   parallel_for(on(queue), n, c);                  // after a and b, which may run at the same time
//   then_host(queue, [&] { ++steps; });             // a function of the host, after c
//
// The graph owns copies of the kernels and keeps the arrays alive that they use. While it is recorded,
// nothing on the queue may wait: results go into Values or finalize functors, copies name the queue, arrays
// that are created are left uninitialized. No other thread may use the queue meanwhile. On a GPU a recording
// begins when the queue's work before it has ended.
//
// A replay runs in the queue it is given, in order with its other work; the next wait throws errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <strata/core/device_fence.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/devices/queue.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

class Recording;

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
  const profiling::QuietWork quiet_;
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

namespace detail {

template <class F>
class HostFunction final : public HostCall {
 public:
  template <class G>
  explicit HostFunction(G&& f) : f_(static_cast<G&&>(f)) {}
  void run() override { f_(); }

 private:
  F f_;
};

void enqueue_host_call(QueueState& queue, const Ref<HostCall>& call);

/// The fork of a recording on `queue`, where this thread is recording; otherwise nothing.
class BranchScope {
 public:
  explicit BranchScope(QueueState& queue);
  template <class F>
  void branch(const F& work) const {
    const OneBranch one(recording_);
    work();
  }
  void join() const;

 private:
  struct OneBranch {
    explicit OneBranch(Recording* on);
    ~OneBranch();
    Recording* recording;
  };
  Recording* recording_ = nullptr;
};

}  // namespace detail

/// Calls each of `work`, which enqueue work on `queue`: branches, of which none may rely on the order in
/// which they run. In a graph on GPUs they run at the same time where there is room; elsewhere, and outside
/// of a recording, one after the other. What is enqueued later runs when all of them are done.
template <Device D, class... F>
void when_all(const Queue<D>& queue, const F&... work) {
  const detail::BranchScope scope(queue.state());
  (scope.branch(work), ...);
  scope.join();
}

/// Calls f() on a thread of the host, in the order of the queue: at once on hosts, later on other devices,
/// and in each launch of a graph that it is recorded in. f is copied; it uses no device and no queue (read
/// what kernels wrote from memory of the host, after a deep_copy on the queue). What it throws is an error of
/// the queue (of a graph on a GPU: of the queue that recorded it), which the next wait throws.
template <Device D, class F>
void then_host(const Queue<D>& queue, F&& f) {
  using Function = std::remove_cvref_t<F>;
  static_assert(std::is_invocable_v<Function&>, "strata: then_host: the function cannot be called as f()");
  detail::enqueue_host_call(
      queue.state(), detail::Ref<detail::HostCall>(new detail::HostFunction<Function>(static_cast<F&&>(f))));
}

}  // namespace strata::inline STRATA_ABI
