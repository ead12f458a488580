// Recording on GPUs: by stream capture, into a CUDA graph. Private to this folder.
//
// A graph owns the scratch memory, counters and large parameters of its kernels, as its replays may overlap
// other work of the queue it was recorded on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/cuda/scratch_memory.hpp>
#include <strata/devices/graph.hpp>
#include <strata/devices/recording.hpp>

namespace strata::inline STRATA_ABI::detail {

class CudaGraph final : public GraphState {
 public:
  explicit CudaGraph(CudaInstance& on) : gpu(on) {}
  ~CudaGraph() override;
  void launch(QueueState& queue) override;
  index_t size() const override { return nodes; }

  CudaInstance& gpu;
  cudaGraphExec_t executable = nullptr;
  index_t nodes = 0;
  std::vector<void*> memory;
  std::vector<AllocationRef> kept;
  std::vector<Ref<CudaHostCall>> calls;
  std::mutex mutex;  // of launches
  cudaEvent_t after =
      nullptr;  // of the latest launch, which comes after all earlier ones, if there are calls
};

class CudaRecording final : public Recording {
 public:
  explicit CudaRecording(CudaQueue& recorded);
  ~CudaRecording() override;
  bool takes_steps() const override { return false; }
  void add(RecordedStep* step) override;
  void keep(const Allocation& allocation) override { graph_->kept.push_back(AllocationRef::of(allocation)); }
  Ref<GraphState> finish() override;
  void fork() override;
  void begin_branch() override;
  void end_branch() noexcept override;
  void join() override;

  void keep_call(const Ref<CudaHostCall>& call) { graph_->calls.push_back(call); }
  CudaScratch scratch(std::size_t bytes, std::size_t slots);
  /// Memory of the graph that holds these bytes.
  const void* place(const void* bytes, std::size_t size);

 private:
  // A fork under way. Branches have scratch memory of their own, as their kernels may run at the same time.
  struct Fork {
    cudaStream_t before;  // the branch that it is in, or null
    cudaEvent_t begin;
    std::vector<cudaEvent_t> ends;
    CudaScratchMemory scratch;
  };
  void* take(std::size_t bytes);
  cudaEvent_t event_here();

  CudaQueue& recorded_;
  const Ref<CudaGraph> graph_;
  bool capturing_ = false;
  CudaScratchMemory scratch_;
  std::vector<Fork> forks_;
  std::vector<cudaStream_t> streams_;  // of branches
  std::vector<cudaEvent_t> events_;
};

}  // namespace strata::inline STRATA_ABI::detail
