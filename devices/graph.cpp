// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/graph.hpp>
#include <strata/devices/launch_info.hpp>
#include <strata/devices/recording.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

class StepGraph final : public GraphState {
 public:
  void launch(QueueState& queue) override {
    for (const auto& step : steps) step->run(queue);
  }
  index_t size() const override { return static_cast<index_t>(steps.size()); }

  std::vector<std::unique_ptr<RecordedStep>> steps;
  std::vector<AllocationRef> kept;
};

class StepRecording final : public Recording {
 public:
  explicit StepRecording(QueueState& recorded) : Recording(recorded), graph_(new StepGraph) {}
  bool takes_steps() const override { return true; }
  void add(RecordedStep* step) override { graph_->steps.emplace_back(step); }
  void keep(const Allocation& allocation) override { graph_->kept.push_back(AllocationRef::of(allocation)); }
  Ref<GraphState> finish() override { return graph_; }

 private:
  const Ref<StepGraph> graph_;
};

// A function of the host as a step.
class RecordedHostCall final : public RecordedStep {
 public:
  explicit RecordedHostCall(const Ref<HostCall>& call) : call_(call) {}
  void run(QueueState& queue) const override { queue.call_host(call_); }

 private:
  Ref<HostCall> call_;
};

}  // namespace

void enqueue_host_call(QueueState& queue, const Ref<HostCall>& call) {
  require_running("then_host");
  if (current_recording != nullptr) {
    check_recordable("then_host", queue, false);
    if (current_recording->takes_steps()) return current_recording->add(new RecordedHostCall(call));
  }
  queue.call_host(call);
}

BranchScope::BranchScope(QueueState& queue) {
  if (current_recording == nullptr) return;
  check_recordable("when_all", queue, false);
  recording_ = current_recording;
  recording_->fork();
}
void BranchScope::join() const {
  if (recording_ != nullptr) recording_->join();
}
BranchScope::OneBranch::OneBranch(Recording* on) : recording(on) {
  if (recording != nullptr) recording->begin_branch();
}
BranchScope::OneBranch::~OneBranch() {
  if (recording != nullptr) recording->end_branch();
}

Recording* QueueState::begin_recording() { return new StepRecording(*this); }

RecordingScope::RecordingScope(QueueState& queue) : recording_(nullptr) {
  require_running("record");
  if (current_recording != nullptr)
    throw Error("record: this thread is recording a graph already; record one after the other");
  recording_ = queue.begin_recording();
  current_recording = recording_;
  current_keeper = recording_;
}

RecordingScope::~RecordingScope() {
  if (recording_ == nullptr) return;
  current_recording = nullptr;
  current_keeper = nullptr;
  delete recording_;
}

Ref<GraphState> RecordingScope::finish() {
  current_recording = nullptr;
  current_keeper = nullptr;
  const std::unique_ptr<Recording> recording(recording_);
  recording_ = nullptr;
  return recording->finish();
}

void check_recordable(const char* what, const QueueState& queue, bool waits) {
  if (current_recording == nullptr)
    throw Error(std::string(what) + " goes to a queue that another thread records a graph of");
  if (&queue != &current_recording->queue)
    throw Error(std::string(what) +
                " while a graph is recorded goes to another queue than the recorded one; name " +
                "that queue: on(queue)");
  if (waits)
    throw Error(std::string(what) +
                " waits for its end, which cannot be recorded; give results a Value or a " +
                "finalize functor, and copies the queue");
}

void record_step(const LaunchInfo& info, const QueueState& queue, bool waits, RecordedStep* step) {
  std::unique_ptr<RecordedStep> owned(step);
  check_recordable((std::string("kernel ") + info.name()).c_str(), queue, waits);
  current_recording->add(owned.get());
  static_cast<void>(owned.release());
}

void launch_graph(GraphState& graph, QueueState& queue) {
  require_running("a graph launch");
  if (current_recording != nullptr)
    throw Error("a graph launch cannot be recorded; record the kernels of both into one graph");
  std::string label;
  const profiling::EventScope scope([&] {
    label = "graph of " + std::to_string(graph.size()) + " operations";
    return HookEvent{.kind = EventKind::BeginGraph,
                     .label = label.c_str(),
                     .device = queue.instance().device_name(),
                     .instance = queue.instance().index(),
                     .queue = queue.id(),
                     .items = graph.size()};
  });
  const profiling::QuietWork quiet;  // a replay is one event: its operations are not reported
  graph.launch(queue);
}

}  // namespace strata::inline STRATA_ABI::detail
