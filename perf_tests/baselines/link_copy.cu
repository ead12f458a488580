#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#include "baselines/link_copy.hpp"
#include "common/cuda_check.hpp"

namespace perf {

double link_copy_seconds(std::size_t up, std::size_t down, std::size_t chunk, int reps) {
  // A ring of some chunks does: where they lie does not matter to the link.
  constexpr std::size_t places = 8;
  char *host_up = nullptr, *host_down = nullptr, *gpu_up = nullptr, *gpu_down = nullptr;
  cuda_check(cudaHostAlloc(reinterpret_cast<void**>(&host_up), places * chunk, cudaHostAllocPortable));
  cuda_check(cudaHostAlloc(reinterpret_cast<void**>(&host_down), places * chunk, cudaHostAllocPortable));
  cuda_check(cudaMalloc(reinterpret_cast<void**>(&gpu_up), places * chunk));
  cuda_check(cudaMalloc(reinterpret_cast<void**>(&gpu_down), places * chunk));
  cuda_check(cudaMemset(gpu_down, 0, places * chunk));
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::vector<double> seconds;
  for (int rep = -1; rep < reps; ++rep) {
    cuda_check(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t at = 0; at < std::max(up, down); at += chunk) {
      const std::size_t place = at / chunk % places * chunk;
      if (at < up)
        cuda_check(cudaMemcpyAsync(gpu_up + place, host_up + place, std::min(chunk, up - at),
                                   cudaMemcpyDefault, streams[0]));
      if (at < down)
        cuda_check(cudaMemcpyAsync(host_down + place, gpu_down + place, std::min(chunk, down - at),
                                   cudaMemcpyDefault, streams[1]));
    }
    cuda_check(cudaDeviceSynchronize());
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (rep >= 0) seconds.push_back(took);
  }
  for (const cudaStream_t stream : streams) cuda_check(cudaStreamDestroy(stream));
  cuda_check(cudaFree(gpu_up));
  cuda_check(cudaFree(gpu_down));
  cuda_check(cudaFreeHost(host_up));
  cuda_check(cudaFreeHost(host_down));
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

double links_copy_seconds(int devices, std::size_t up, std::size_t down, std::size_t chunk, int reps) {
  std::vector<double> seconds(static_cast<std::size_t>(devices));
  std::vector<std::thread> threads;
  // Each makes its memory, and they begin their copies at nearly the same time.
  for (int device = 0; device < devices; ++device)
    threads.emplace_back([&, device] {
      cuda_check(cudaSetDevice(device));
      seconds[static_cast<std::size_t>(device)] = link_copy_seconds(up, down, chunk, reps);
    });
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(seconds.begin(), seconds.end());
}

}  // namespace perf
