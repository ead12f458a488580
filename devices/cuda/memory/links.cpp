// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include <cuda_runtime_api.h>

#include <strata/core/error.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/instance.hpp>
#include <strata/devices/cuda/launch/launch.hpp>
#include <strata/devices/cuda/memory/links.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr std::size_t most_bytes = std::size_t{16} << 20;
// Less would measure the start of a copy instead of its rate.
constexpr std::size_t least_measured_bytes = std::size_t{1} << 20;
constexpr std::size_t start_bytes = 4096;
constexpr int rounds = 3;
// Of a link that cannot be measured for want of memory: that of many machines, about.
constexpr CopyCost assumed{10e-6, 20e9};

// One end of the copies: memory of a GPU, or pinned memory.
class End {
 public:
  End(int place, std::size_t bytes) : gpu_(place == host_place ? nullptr : &CudaInstance::get(place)) {
    if (gpu_ != nullptr) data_ = gpu_->allocate(CudaMemoryKind::Device, bytes);
    else if (cudaHostAlloc(&data_, bytes, cudaHostAllocPortable) != cudaSuccess)
      static_cast<void>(cudaGetLastError());
  }
  ~End() {
    if (data_ == nullptr) return;
    if (gpu_ != nullptr) gpu_->release(CudaMemoryKind::Device, data_);
    else cudaFreeHost(data_);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void* data() const { return data_; }
  CudaInstance* gpu() const { return gpu_; }

 private:
  CudaInstance* const gpu_;
  void* data_ = nullptr;
};

// A stream of a GPU, and the events between its copies.
class Clock {
 public:
  explicit Clock(CudaInstance& gpu) : gpu_(gpu), stream_(gpu.take_helper_stream()) {
    for (cudaEvent_t& event : events_) event = gpu.take_event(true);
  }
  ~Clock() {
    cudaStreamSynchronize(stream());
    for (const cudaEvent_t event : events_) gpu_.give_back(event, true);
    gpu_.give_back(stream_);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  cudaStream_t stream() const { return stream_.stream; }
  /// Memory that a queue freed may still be in use by its work, as long as there is one queue only.
  void start_behind(CudaInstance& other) {
    const std::lock_guard lock(other.queue().mutex);
    if (other.queue().recording != nullptr) return;
    const CudaDeviceScope scope(other.index());
    const cudaEvent_t event = other.take_event();
    check_cuda(cudaEventRecord(event, other.queue().stream()), "recording an event", other.index());
    check_cuda(cudaStreamWaitEvent(stream(), event, 0), "waiting for an event", gpu_.index());
    other.give_back(event);
  }
  /// Seconds of `enqueue()`.
  template <class Enqueue>
  double seconds(const Enqueue& enqueue) {
    check_cuda(cudaEventRecord(events_[0], stream()), "recording an event", gpu_.index());
    check_cuda(enqueue(), "measuring a link", gpu_.index());
    check_cuda(cudaEventRecord(events_[1], stream()), "recording an event", gpu_.index());
    check_cuda(cudaEventSynchronize(events_[1]), "measuring a link", gpu_.index());
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "measuring a link", gpu_.index());
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  CudaInstance& gpu_;
  CudaStream& stream_;
  cudaEvent_t events_[2] = {};
};

bool measure(int to, int from, std::size_t bytes, CopyCost& cost) {
  const End destination(to, bytes), source(from, bytes);
  if (destination.data() == nullptr || source.data() == nullptr) return false;
  CudaInstance& gpu = destination.gpu() != nullptr ? *destination.gpu() : *source.gpu();
  const CudaDeviceScope scope(gpu.index());
  Clock clock(gpu);
  for (const End* const end : {&destination, &source})
    if (end->gpu() != nullptr) clock.start_behind(*end->gpu());
  const auto copy = [&](std::size_t size) {
    return to >= 0 && from >= 0 && to != from
               ? cudaMemcpyPeerAsync(destination.data(), to, source.data(), from, size, clock.stream())
               : cudaMemcpyAsync(destination.data(), source.data(), size, cudaMemcpyDefault, clock.stream());
  };
  // For tools that report reads of uninitialised memory.
  if (source.gpu() != nullptr) {
    const CudaDeviceScope there(source.gpu()->index());
    Clock clearing(*source.gpu());  // waits at its end
    clearing.start_behind(*source.gpu());
    check_cuda(cudaMemsetAsync(source.data(), 0, bytes, clearing.stream()), "measuring a link",
               source.gpu()->index());
  }
  clock.seconds([&] { return copy(bytes); });  // the first one opens what it needs
  double all = 1e9, start = 1e9;
  for (int round = 0; round < rounds; ++round) {
    all = std::min(all, clock.seconds([&] { return copy(bytes); }));
    start = std::min(start, clock.seconds([&] { return copy(start_bytes); }));
  }
  const double moving = all > start ? all - start : all;
  if (moving <= 0) return false;
  cost = {start, static_cast<double>(bytes - start_bytes) / moving};
  return true;
}

// Copies go both ways for longer than it takes to begin them.
bool measure_both(int place, double& rate) {
  constexpr std::size_t bytes = std::size_t{64} << 20;
  const End up_to(place, bytes), up_from(host_place, bytes), down_to(host_place, bytes),
      down_from(place, bytes);
  for (const End* const end : {&up_to, &up_from, &down_to, &down_from})
    if (end->data() == nullptr) return false;
  CudaInstance& gpu = *up_to.gpu();
  const CudaDeviceScope scope(gpu.index());
  Clock up(gpu), down(gpu);
  up.start_behind(gpu);
  check_cuda(cudaMemsetAsync(down_from.data(), 0, bytes, up.stream()), "measuring a link", gpu.index());
  const cudaEvent_t ready = gpu.take_event();
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    check_cuda(cudaStreamSynchronize(down.stream()), "measuring a link", gpu.index());
    check_cuda(cudaEventRecord(ready, up.stream()), "measuring a link", gpu.index());
    check_cuda(cudaStreamWaitEvent(down.stream(), ready, 0), "measuring a link", gpu.index());
    const double seconds = up.seconds([&] {
      const cudaError_t code =
          cudaMemcpyAsync(down_to.data(), down_from.data(), bytes, cudaMemcpyDefault, down.stream());
      return code != cudaSuccess
                 ? code
                 : cudaMemcpyAsync(up_to.data(), up_from.data(), bytes, cudaMemcpyDefault, up.stream());
    });
    const double rest = down.seconds([&] { return cudaSuccess; });
    best = std::min(best, seconds + rest);
  }
  gpu.give_back(ready);
  rate = 2 * static_cast<double>(bytes) / best;
  return true;
}

}  // namespace

bool reach_peer(int here, int other) {
  static std::mutex& mutex = *new std::mutex;
  static int known[max_cuda_devices][max_cuda_devices];  // 0 not asked, 1 no, 2 yes
  const std::lock_guard lock(mutex);
  int& answer = known[here][other];
  if (answer == 0) {
    int can = 0;
    check_cuda(cudaDeviceCanAccessPeer(&can, here, other), "asking for a link between GPUs", here);
    if (can != 0) {
      const CudaDeviceScope scope(here);
      const cudaError_t code = cudaDeviceEnablePeerAccess(other, 0);
      if (code == cudaErrorPeerAccessAlreadyEnabled) static_cast<void>(cudaGetLastError());
      else check_cuda(code, "opening a link between GPUs", here);
      CudaInstance::get(other).open_to(here);
    }
    answer = can != 0 ? 2 : 1;
  }
  return answer == 2;
}

CopyCost measured_copy_cost(int to, int from) {
  static std::mutex& mutex = *new std::mutex;
  struct Known {
    bool measured;
    CopyCost cost;
  };
  static Known known[max_cuda_devices + 1][max_cuda_devices + 1];
  const std::lock_guard lock(mutex);
  Known& answer = known[to + 1][from + 1];
  if (answer.measured) return answer.cost;
  if (to >= 0 && from >= 0 && to != from && !reach_peer(to, from)) {
    answer.measured = true;
    return answer.cost;
  }
  for (std::size_t bytes = most_bytes; bytes >= least_measured_bytes && !answer.measured; bytes /= 4)
    answer.measured = measure(to, from, bytes, answer.cost);
  return answer.measured ? answer.cost : assumed;
}

double measured_both_ways(int gpu) {
  static std::mutex& mutex = *new std::mutex;
  static double known[max_cuda_devices];
  const std::lock_guard lock(mutex);
  if (known[gpu] == 0 && !measure_both(gpu, known[gpu])) return 0;
  return known[gpu];
}

}  // namespace strata::inline STRATA_ABI::detail
