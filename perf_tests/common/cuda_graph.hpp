// Launches of competitors as one CUDA graph. For files that nvcc compiles, without a Strata header.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "common/cuda_check.hpp"

namespace perf {

struct OwnedGraph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ~OwnedGraph() {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
};

/// Records launch(stream) `times` times as one graph. What is returned runs it and waits; it keeps `launch`,
/// which may own memory that the graph uses.
template <class F>
std::function<void()> as_one_graph(CudaPlace place, int times, const F& launch) {
  const auto graph = std::make_shared<OwnedGraph>();
  const cudaStream_t stream = stream_of(place);
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  for (int k = 0; k < times; ++k) launch(stream);
  cuda_check(cudaStreamEndCapture(stream, &graph->graph));
  cuda_check(cudaGraphInstantiate(&graph->executable, graph->graph, 0));
  return [place, graph, stream, launch] {
    static_cast<void>(launch);
    cuda_check(cudaGraphLaunch(graph->executable, stream));
    cuda_finish(place);
  };
}

}  // namespace perf
