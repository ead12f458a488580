// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string>

#include <strata/core/error.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/graph.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

CudaGraph::~CudaGraph() {
  // A replay under way is not disturbed: CUDA frees the graph after it, the memory is in quarantine, and the
  // instance holds the functions that CUDA may still call.
  if (after != nullptr) gpu.host_calls().keep(std::move(calls), after);
  if (executable != nullptr) cudaGraphExecDestroy(executable);
  for (void* const block : memory) gpu.release(CudaMemoryKind::Device, block);
}

void CudaGraph::launch(QueueState& queue) {
  auto* const target = dynamic_cast<CudaQueue*>(&queue);
  if (target == nullptr || &target->gpu() != &gpu)
    throw WrongDevice("a graph of Cuda{" + std::to_string(gpu.index()) + "} was launched on a queue of " +
                      queue.instance().device_name() + "{" + std::to_string(queue.instance().index()) +
                      "}; record one there");
  const std::lock_guard lock(target->mutex);
  const CudaDeviceScope scope(gpu.index());
  const std::lock_guard one_launch(mutex);  // `after` is that of the latest
  if (after == nullptr && !calls.empty()) after = gpu.take_event();
  static_cast<void>(target->note_kernel("a graph", nullptr, nullptr));
  const auto count = static_cast<std::ptrdiff_t>(calls.size());
  CudaHostCall::note_enqueued(count);
  const cudaError_t code = cudaGraphLaunch(executable, target->stream());
  if (code != cudaSuccess) CudaHostCall::note_enqueued(-count);
  check_cuda(code, "launching a graph", gpu.index());
  target->submitted();
  if (after != nullptr)
    check_cuda(cudaEventRecord(after, target->stream()), "launching a graph", gpu.index());
}

CudaRecording::CudaRecording(CudaQueue& recorded)
    : Recording(recorded), recorded_(recorded), graph_(new CudaGraph(recorded.gpu())) {
  const CudaDeviceScope scope(recorded.device());
  recorded.begin_capture();
  recorded.recording = this;
  // Relaxed: this thread allocates and places large parameters meanwhile, on another stream.
  const cudaError_t code = cudaStreamBeginCapture(recorded.stream(), cudaStreamCaptureModeRelaxed);
  if (code != cudaSuccess) {
    recorded.recording = nullptr;
    recorded.end_capture();
    fail_cuda(code, "recording a graph", recorded.device());
  }
  capturing_ = true;
}

CudaRecording::~CudaRecording() {
  recorded_.recording = nullptr;
  recorded_.branch = nullptr;
  cudaGraph_t recorded = nullptr;
  if (capturing_ && cudaStreamEndCapture(recorded_.stream(), &recorded) == cudaSuccess)
    cudaGraphDestroy(recorded);
  if (capturing_) {
    static_cast<void>(cudaGetLastError());
    recorded_.end_capture();
  }
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
}

// A branch is a stream that joined the capture by waiting for an event of it.
void CudaRecording::fork() {
  const CudaDeviceScope scope(recorded_.device());
  forks_.push_back({recorded_.branch, event_here(), {}, scratch_});
}

void CudaRecording::begin_branch() {
  const CudaDeviceScope scope(recorded_.device());
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "recording a branch of a graph",
             recorded_.device());
  streams_.push_back(stream);
  check_cuda(cudaStreamWaitEvent(stream, forks_.back().begin, 0), "recording a branch of a graph",
             recorded_.device());
  recorded_.branch = stream;
  scratch_ = {};
}

void CudaRecording::end_branch() noexcept {
  Fork& fork = forks_.back();
  const CudaDeviceScope scope(recorded_.device());
  cudaEvent_t end = nullptr;  // a failure shows in join() and at the end of the capture
  if (cudaEventCreateWithFlags(&end, cudaEventDisableTiming) == cudaSuccess) {
    events_.push_back(end);
    if (cudaEventRecord(end, recorded_.stream()) == cudaSuccess) fork.ends.push_back(end);
  }
  recorded_.branch = fork.before;
  scratch_ = fork.scratch;
}

void CudaRecording::join() {
  const CudaDeviceScope scope(recorded_.device());
  const Fork fork = forks_.back();
  forks_.pop_back();
  for (const cudaEvent_t end : fork.ends)
    check_cuda(cudaStreamWaitEvent(recorded_.stream(), end, 0), "joining the branches of a graph",
               recorded_.device());
}

cudaEvent_t CudaRecording::event_here() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "recording a branch of a graph",
             recorded_.device());
  events_.push_back(event);
  check_cuda(cudaEventRecord(event, recorded_.stream()), "recording a branch of a graph", recorded_.device());
  return event;
}

void CudaRecording::add(RecordedStep* step) {
  const std::unique_ptr<RecordedStep> owned(step);
  throw Error("this work cannot be recorded on Cuda{" + std::to_string(recorded_.device()) + "}");
}

Ref<GraphState> CudaRecording::finish() {
  const CudaDeviceScope scope(recorded_.device());
  recorded_.recording = nullptr;
  capturing_ = false;
  cudaGraph_t recorded = nullptr;
  const cudaError_t code = cudaStreamEndCapture(recorded_.stream(), &recorded);
  recorded_.end_capture();
  check_cuda(code, "recording a graph", recorded_.device());
  struct Owner {
    cudaGraph_t graph;
    ~Owner() { cudaGraphDestroy(graph); }
  } const owner{recorded};
  std::size_t nodes = 0;
  check_cuda(cudaGraphGetNodes(recorded, nullptr, &nodes), "recording a graph", recorded_.device());
  graph_->nodes = static_cast<index_t>(nodes);
  check_cuda(cudaGraphInstantiate(&graph_->executable, recorded, 0), "making a graph", recorded_.device());
  check_cuda(cudaGraphUpload(graph_->executable, recorded_.stream()), "making a graph", recorded_.device());
  recorded_.submitted();
  return graph_;
}

void* CudaRecording::take(std::size_t bytes) {
  void* const block = recorded_.gpu().allocate(CudaMemoryKind::Device, bytes);
  if (block == nullptr)
    throw OutOfMemory("a graph needs " + std::to_string(bytes) + " bytes of its own on Cuda{" +
                      std::to_string(recorded_.device()) + "}");
  graph_->memory.push_back(block);
  return block;
}

CudaScratch CudaRecording::scratch(std::size_t bytes, std::size_t slots) {
  // Kernels of one graph come one after the other, so they share. Smaller blocks stay with their kernels.
  if (!scratch_.holds_slots(slots)) {
    const std::size_t wanted = CudaScratchMemory::zeros_for(slots);
    void* const memory = take(wanted * sizeof(*scratch_.zeros));
    const cudaStream_t helper = recorded_.helper_stream();
    check_cuda(cudaMemsetAsync(memory, 0, wanted * sizeof(*scratch_.zeros), helper), "recording a graph",
               recorded_.device());
    check_cuda(cudaStreamSynchronize(helper), "recording a graph", recorded_.device());
    scratch_.zeros = static_cast<unsigned long long*>(memory);
    scratch_.num_zeros = wanted;
  }
  if (bytes > scratch_.bytes) {
    scratch_.bytes = std::max({bytes, 2 * scratch_.bytes, std::size_t{1} << 16});
    scratch_.partials = take(scratch_.bytes);
  }
  return scratch_.scratch();
}

const void* CudaRecording::place(const void* bytes, std::size_t size) {
  void* const block = take(size);
  const cudaStream_t helper = recorded_.helper_stream();
  check_cuda(cudaMemcpyAsync(block, bytes, size, cudaMemcpyHostToDevice, helper), "recording a graph",
             recorded_.device());
  check_cuda(cudaStreamSynchronize(helper), "recording a graph", recorded_.device());
  return block;
}

Recording* CudaQueue::begin_recording() { return new CudaRecording(*this); }

}  // namespace strata::inline STRATA_ABI::detail
