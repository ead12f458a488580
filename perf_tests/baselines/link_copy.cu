// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#include "baselines/host_pages.hpp"
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

namespace {

// Of `bytes` the run of a GPU, as multiples of a huge page.
struct Run {
  std::size_t begin, end;
};
Run run_of(int device, int devices, std::size_t bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  const auto cut = [&](int k) {
    return k == devices
               ? bytes
               : bytes / huge * static_cast<std::size_t>(k) / static_cast<std::size_t>(devices) * huge;
  };
  return {cut(device), cut(device + 1)};
}

// A GPU's ring of chunks; more than one, for copies one after the other.
constexpr std::size_t chunks_there = 4;

class GpuRing {
 public:
  explicit GpuRing(std::size_t chunk) : chunk_(chunk) {
    cuda_check(cudaMalloc(reinterpret_cast<void**>(&data_), chunks_there * chunk));
    cuda_check(cudaMemset(data_, 0, chunks_there * chunk));
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~GpuRing() {
    cuda_check(cudaStreamDestroy(stream_));
    cuda_check(cudaFree(data_));
  }
  GpuRing(const GpuRing&) = delete;
  GpuRing& operator=(const GpuRing&) = delete;
  void copy(char* host, std::size_t at, std::size_t end, bool to_gpu) {
    char* const here = data_ + at / chunk_ % chunks_there * chunk_;
    const std::size_t bytes = std::min(chunk_, end - at);
    cuda_check(cudaMemcpyAsync(to_gpu ? here : host + at, to_gpu ? host + at : here, bytes, cudaMemcpyDefault,
                               stream_));
  }

 private:
  std::size_t chunk_;
  char* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

// Two arrays that are page-locked as asked; `in` is null where the machine does not allow that.
class PinnedArrays {
 public:
  PinnedArrays(PinnedPages pages, int devices, std::size_t bytes) {
    in = make(pages, devices, bytes);
    if (in != nullptr) out = make(pages, devices, bytes);
    if (out == nullptr) in = nullptr;
  }
  ~PinnedArrays() {
    for (void* const data : registered_) cuda_check(cudaHostUnregister(data));
    for (void* const data : allocated_) cuda_check(cudaFreeHost(data));
  }
  PinnedArrays(const PinnedArrays&) = delete;
  PinnedArrays& operator=(const PinnedArrays&) = delete;

  char *in = nullptr, *out = nullptr;

 private:
  static bool place(PinnedPages pages, int devices, std::size_t bytes, HostPages& here) {
    if (pages == PinnedPages::OneThread) here.touch();
    if (pages == PinnedPages::Interleaved) return here.interleave();
    if (pages != PinnedPages::NearGpus) return true;
    const std::vector<int> nodes = numa_nodes_of_gpus(devices);
    for (int device = 0; device < devices; ++device) {
      const Run run = run_of(device, devices, bytes);
      const int node = nodes[static_cast<std::size_t>(device)];
      if (node < 0 || !here.place(run.begin, device + 1 == devices ? here.bytes() : run.end, node))
        return false;
    }
    return true;
  }
  char* make(PinnedPages pages, int devices, std::size_t bytes) {
    if (pages == PinnedPages::HostAlloc) {
      void* memory = nullptr;
      if (!allowed(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped)))
        return nullptr;
      allocated_.push_back(memory);
      return static_cast<char*>(memory);
    }
    pages_.push_back(std::make_unique<HostPages>(bytes));
    HostPages& here = *pages_.back();
    if (here.data() == nullptr || !place(pages, devices, bytes, here) ||
        !allowed(cudaHostRegister(here.data(), here.bytes(), cudaHostRegisterPortable)))
      return nullptr;
    registered_.push_back(here.data());
    return here.data();
  }
  static bool allowed(cudaError_t code) {
    if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
    return code == cudaSuccess;
  }

  std::vector<std::unique_ptr<HostPages>> pages_;
  std::vector<void*> allocated_, registered_;
};

}  // namespace

double arrays_copy_seconds(int devices, const void* in, void* out, std::size_t bytes, std::size_t chunk,
                           int reps) {
  std::vector<double> seconds;
  std::barrier<> together(devices + 1);
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device)
    threads.emplace_back([&, device] {
      cuda_check(cudaSetDevice(device));
      const Run run = run_of(device, devices, bytes);
      GpuRing up(chunk), down(chunk);
      cuda_check(cudaDeviceSynchronize());
      for (int rep = -1; rep < reps; ++rep) {
        together.arrive_and_wait();
        for (std::size_t at = run.begin; at < run.end; at += chunk) {
          // Copies to a GPU only read.
          if (in != nullptr) up.copy(const_cast<char*>(static_cast<const char*>(in)), at, run.end, true);
          if (out != nullptr) down.copy(static_cast<char*>(out), at, run.end, false);
        }
        cuda_check(cudaDeviceSynchronize());
        together.arrive_and_wait();
      }
    });
  for (int rep = -1; rep < reps; ++rep) {
    together.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    together.arrive_and_wait();
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (rep >= 0) seconds.push_back(took);
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

const char* name_of(PinnedPages pages) {
  switch (pages) {
    case PinnedPages::HostAlloc:
      return "cudaHostAlloc";
    case PinnedPages::OneThread:
      return "touched by one thread, registered";
    case PinnedPages::Interleaved:
      return "interleaved over NUMA nodes, registered";
    case PinnedPages::NearGpus:
      break;
  }
  return "each run on the node near its GPU, registered";
}

ArraysCopy arrays_copy(PinnedPages pages, int devices, std::size_t bytes, std::size_t chunk, int reps) {
  const PinnedArrays arrays(pages, devices, bytes);
  ArraysCopy copy;
  if (arrays.in == nullptr || arrays.out == nullptr) return copy;
  copy.nodes = pages_by_node(arrays.in, bytes);
  copy.both = arrays_copy_seconds(devices, arrays.in, arrays.out, bytes, chunk, reps);
  copy.in = arrays_copy_seconds(devices, arrays.in, nullptr, bytes, chunk, reps);
  copy.out = arrays_copy_seconds(devices, nullptr, arrays.out, bytes, chunk, reps);
  return copy;
}

std::vector<int> numa_nodes_of_gpus(int devices) {
  std::vector<int> nodes;
  for (int device = 0; device < devices; ++device) {
    char bus_id[32] = {};
    if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device) != cudaSuccess)
      static_cast<void>(cudaGetLastError());
    nodes.push_back(numa_node_of_pci(bus_id));
  }
  return nodes;
}

}  // namespace perf
