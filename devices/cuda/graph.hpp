// Recording on GPUs: by stream capture, into a CUDA graph. Private to this folder.
//
// A graph owns the scratch memory, counters and large parameters of its kernels, as its replays may overlap
// other work of the queue it was recorded on.
#pragma once

#include <vector>

#include <cuda_runtime_api.h>

#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
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
};

class CudaRecording final : public Recording {
 public:
  explicit CudaRecording(CudaQueue& recorded);
  ~CudaRecording() override;
  bool takes_steps() const override { return false; }
  void add(RecordedStep* step) override;
  void keep(const Allocation& allocation) override { graph_->kept.push_back(AllocationRef::of(allocation)); }
  Ref<GraphState> finish() override;

  CudaScratch scratch(std::size_t bytes);
  /// Memory of the graph that holds these bytes.
  const void* place(const void* bytes, std::size_t size);

 private:
  void* take(std::size_t bytes);

  CudaQueue& recorded_;
  const Ref<CudaGraph> graph_;
  bool capturing_ = false;
  unsigned* counter_ = nullptr;
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace strata::inline STRATA_ABI::detail
