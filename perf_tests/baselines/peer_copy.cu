// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <vector>

#include "baselines/peer_copy.hpp"
#include "common/cuda_check.hpp"

namespace perf {

double peer_copy_seconds(int from, int to, std::size_t bytes, int reps) {
  cuda_check(cudaSetDevice(from));
  if (const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0); code == cudaErrorPeerAccessAlreadyEnabled)
    static_cast<void>(cudaGetLastError());
  else cuda_check(code);
  void* source = nullptr;
  void* destination = nullptr;
  cuda_check(cudaMalloc(&source, bytes));
  cuda_check(cudaSetDevice(to));
  if (const cudaError_t code = cudaDeviceEnablePeerAccess(from, 0); code == cudaErrorPeerAccessAlreadyEnabled)
    static_cast<void>(cudaGetLastError());
  else cuda_check(code);
  cuda_check(cudaMalloc(&destination, bytes));
  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::vector<double> seconds;
  for (int rep = -2; rep < reps; ++rep) {
    const auto begin = std::chrono::steady_clock::now();
    cuda_check(cudaMemcpyPeerAsync(destination, to, source, from, bytes, stream));
    cuda_check(cudaStreamSynchronize(stream));
    if (rep >= 0)
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  cuda_check(cudaStreamDestroy(stream));
  cuda_check(cudaFree(destination));
  cuda_check(cudaSetDevice(from));
  cuda_check(cudaFree(source));
  cuda_check(cudaSetDevice(0));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace perf
