// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "baselines/memory_modes.hpp"
#include "common/cuda_check.hpp"
#include "common/timing.hpp"

namespace perf {

namespace {

constexpr int block = 256;

// n items, of which each block has a piece.
struct Items {
  std::ptrdiff_t n, piece;
};
template <class F>
__device__ void for_items(Items items, const F& f) {
  const std::ptrdiff_t begin = blockIdx.x * items.piece, end = begin + items.piece;
  for (std::ptrdiff_t i = begin + threadIdx.x; i < end && i < items.n; i += block) f(i);
}

template <class T>
__global__ void __launch_bounds__(block) first_kernel(T* a, Items items) {
  for_items(items, [=](std::ptrdiff_t i) { a[i] = first_of(a[i]); });
}
template <class T>
__global__ void __launch_bounds__(block) second_kernel(T* a, Items items) {
  for_items(items, [=](std::ptrdiff_t i) { a[i] = second_of(a[i]); });
}
template <class T>
__global__ void __launch_bounds__(block)
    combine_kernel(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, Items items) {
  for_items(items, [=](std::ptrdiff_t i) { c[i] = combined_of(a[i], b[i]); });
}
template <class T>
__global__ void __launch_bounds__(block) read_kernel(const T* __restrict__ a, T* found, Items items) {
  for_items(items, [=](std::ptrdiff_t i) {
    if (is_unheard_of(a[i])) *found = a[i];
  });
}
template <class T>
__global__ void __launch_bounds__(block) write_kernel(T* a, Items items) {
  for_items(items, [=](std::ptrdiff_t i) { a[i] = first_of(static_cast<T>(i & 1023)); });
}

bool is_pageable(ByHand way) { return way == ByHand::Pageable || way == ByHand::Implicit; }
bool prefetches(ByHand way) { return way == ByHand::Managed || way == ByHand::ManagedHints; }
bool is_in_place(ByHand way) { return way == ByHand::ManagedInPlace || way == ByHand::ManagedPieces; }
bool is_managed(ByHand way) { return prefetches(way) || is_in_place(way) || way == ByHand::ManagedFaults; }
bool copies(ByHand way) { return is_pageable(way) || way == ByHand::Pinned; }

cudaMemLocation location(bool is_host) {
  int device = 0;
  cuda_check(cudaGetDevice(&device));
  return is_host ? cudaMemLocation{cudaMemLocationTypeHost, 0}
                 : cudaMemLocation{cudaMemLocationTypeDevice, device};
}
void advise(void* data, std::size_t bytes, cudaMemoryAdvise advice, bool is_host = false) {
  const cudaMemLocation place = location(is_host);
#if CUDART_VERSION >= 13000
  cuda_check(cudaMemAdvise(data, bytes, advice, place));
#else
  cuda_check(cudaMemAdvise_v2(data, bytes, advice, place));
#endif
}

cudaError_t prefetch(void* data, std::size_t bytes, bool to_host, cudaStream_t stream) {
  const cudaMemLocation place = location(to_host);
#if CUDART_VERSION >= 13000
  return cudaMemPrefetchAsync(data, bytes, place, 0, stream);
#else
  return cudaMemPrefetchAsync_v2(data, bytes, place, 0, stream);
#endif
}
// What is overwritten is placed on the device without its values, where the driver knows how.
void discard_and_prefetch(void* data, std::size_t bytes, cudaStream_t stream) {
#if CUDART_VERSION >= 13000
  static bool is_known = true;
  if (is_known) {
    cudaMemLocation place = location(false);
    std::size_t first = 0;
    const cudaError_t code =
        cudaMemDiscardAndPrefetchBatchAsync(&data, &bytes, 1, &place, &first, 1, 0, stream);
    if (code == cudaSuccess) return;
    is_known = false;
    static_cast<void>(cudaGetLastError());
  }
#endif
  cuda_check(prefetch(data, bytes, false, stream));
}

// By default CUDA's pool gives memory back with every wait.
bool keep_pool() {
  int device = 0;
  cuda_check(cudaGetDevice(&device));
  cudaMemPool_t pool = nullptr;
  cuda_check(cudaDeviceGetDefaultMemPool(&pool, device));
  std::uint64_t all = UINT64_MAX;
  cuda_check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  return true;
}

// Up to three arrays: what the host has, and what kernels get.
template <class T>
class Arrays {
 public:
  Arrays(CudaPlace place, ByHand way, const MemoryWork& work)
      : stream_(stream_of(place)),
        way_(way),
        n_(work.n),
        bytes_(static_cast<std::size_t>(work.n) * sizeof(T)),
        count_(work.pattern == Pattern::Partial ? 3 : 1) {
    for (int k = 0; k < count_; ++k) host_[k] = host_memory();
    // For all kernels of the pattern: what they only read, and what they write.
    const auto is_only_read = [&](int k) {
      return work.pattern == Pattern::Reads || (work.pattern == Pattern::Partial && k < 2);
    };
    for (int k = 0; k < count_; ++k) {
      if (way == ByHand::ManagedHints)
        advise(host_[k], bytes_,
               is_only_read(k) ? cudaMemAdviseSetReadMostly : cudaMemAdviseSetPreferredLocation);
      if (!is_in_place(way)) continue;
      advise(host_[k], bytes_, cudaMemAdviseSetPreferredLocation, true);
      advise(host_[k], bytes_, cudaMemAdviseSetAccessedBy);
    }
    for (int k = 0; k < count_; ++k) device_[k] = copies(way) ? device_memory(bytes_) : host_[k];
    if (work.pattern == Pattern::Reads) found_ = device_memory(sizeof(T));
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  ~Arrays() {
    if (found_ != nullptr) cudaFreeAsync(found_, stream_);
    for (int k = 0; k < 3; ++k) {
      if (copies(way_) && device_[k] != nullptr) cudaFreeAsync(device_[k], stream_);
      if (host_[k] == nullptr) continue;
      if (is_managed(way_)) cudaFree(host_[k]);
      else if (is_pageable(way_)) std::free(host_[k]);
      else cudaFreeHost(host_[k]);
    }
  }

  T* host(int k) const { return host_[k]; }
  void to_device(int k) const {
    if (copies(way_))
      cuda_check(cudaMemcpyAsync(device_[k], host_[k], bytes_, cudaMemcpyHostToDevice, stream_));
    else if (prefetches(way_)) cuda_check(prefetch(host_[k], bytes_, false, stream_));
  }
  void overwritten_on_device(int k) const {
    if (prefetches(way_)) discard_and_prefetch(host_[k], bytes_, stream_);
  }
  void to_host(int k) const {
    if (copies(way_))
      cuda_check(cudaMemcpyAsync(host_[k], device_[k], bytes_, cudaMemcpyDeviceToHost, stream_));
    if (!prefetches(way_)) return;
    // Behind a kernel that runs, a prefetch takes longer by a fifth (16 MiB) to a half (4 KiB).
    if (bytes_ <= std::size_t{16} << 20) wait();
    cuda_check(prefetch(host_[k], bytes_, true, stream_));
  }
  // Of a launch that knows nothing of others: all its operands come before it, and go after it.
  template <class F>
  void whole_launch(const F& launch) const {
    for (int k = 0; k < count_; ++k) to_device(k);
    launch();
    for (int k = 0; k < count_; ++k) to_host(k);
  }
  void wait() const {
    cuda_check(cudaGetLastError());
    cuda_check(cudaStreamSynchronize(stream_));
  }

  void first() const { first_kernel<<<blocks(), block, 0, stream_>>>(device_[0], items()); }
  void second() const { second_kernel<<<blocks(), block, 0, stream_>>>(device_[0], items()); }
  void combine() const {
    combine_kernel<<<blocks(), block, 0, stream_>>>(device_[0], device_[1], device_[2], items());
  }
  void read() const { read_kernel<<<blocks(), block, 0, stream_>>>(device_[0], found_, items()); }
  void write() const { write_kernel<<<blocks(), block, 0, stream_>>>(device_[0], items()); }

 private:
  T* host_memory() const {
    void* data = nullptr;
    if (is_managed(way_)) cuda_check(cudaMallocManaged(&data, bytes_));
    else if (!is_pageable(way_)) cuda_check(cudaHostAlloc(&data, bytes_, cudaHostAllocMapped));
    else if ((data = std::malloc(bytes_)) == nullptr) cuda_check(cudaErrorMemoryAllocation);
    return static_cast<T*>(data);
  }
  T* device_memory(std::size_t bytes) const {
    static const bool keeps = keep_pool();
    static_cast<void>(keeps);
    void* data = nullptr;
    cuda_check(cudaMallocAsync(&data, bytes, stream_));
    return static_cast<T*>(data);
  }
  unsigned blocks() const {
    static const auto few = static_cast<unsigned>(multiprocessors());
    const auto all = static_cast<unsigned>((n_ + block - 1) / block);
    return way_ == ByHand::MappedPieces || way_ == ByHand::ManagedPieces ? std::min(all, few) : all;
  }
  Items items() const {
    const std::ptrdiff_t blocks_of_all = (n_ + block - 1) / block, count = blocks();
    return {n_, (blocks_of_all + count - 1) / count * block};
  }

  cudaStream_t stream_;
  ByHand way_;
  std::ptrdiff_t n_;
  std::size_t bytes_;
  int count_;
  T* host_[3] = {};
  T* device_[3] = {};
  T* found_ = nullptr;
};

template <class T>
void fill(const Arrays<T>& arrays, const MemoryWork& work, HostSide& host) {
  if (work.pattern == Pattern::ToHost) {
    arrays.overwritten_on_device(0);
    arrays.write();
    arrays.wait();
    return;
  }
  host.fill(arrays.host(0), work.n, 0);
  if (work.pattern == Pattern::Partial) host.fill(arrays.host(1), work.n, 1);
}

template <class T>
void run_implicitly(const Arrays<T>& arrays, Pattern pattern) {
  if (pattern == Pattern::Partial) return arrays.whole_launch([&] { arrays.combine(); });
  arrays.whole_launch([&] { arrays.first(); });
  if (pattern == Pattern::Multikernel) arrays.whole_launch([&] { arrays.second(); });
}

// The calls of a pattern, but for the wait.
template <class T>
void run(const Arrays<T>& arrays, const MemoryWork& work) {
  switch (work.pattern) {
    case Pattern::Full:
      arrays.to_device(0);
      arrays.first();
      break;
    case Pattern::Partial:
      arrays.to_device(0);
      arrays.to_device(1);
      arrays.overwritten_on_device(2);
      arrays.combine();
      break;
    case Pattern::Multikernel:
      arrays.to_device(0);
      arrays.first();
      arrays.second();
      break;
    case Pattern::Reads:
      arrays.to_device(0);
      for (int k = 0; k < work.reads; ++k) arrays.read();
      break;
    case Pattern::ToHost:
      break;
  }
  if (work.pattern != Pattern::Reads) arrays.to_host(work.pattern == Pattern::Partial ? 2 : 0);
}

// From the first call to the end of the check; `begin` may lie before.
template <class T>
PatternTimes timed(const Arrays<T>& arrays, const MemoryWork& work, HostSide& host, double begin,
                   ByHand way) {
  const int result = work.pattern == Pattern::Partial ? 2 : 0;
  if (way == ByHand::Implicit) run_implicitly(arrays, work.pattern);
  else run(arrays, work);
  arrays.wait();
  PatternTimes times;
  times.done = times.verified = now() - begin;
  if (work.pattern == Pattern::Reads) return times;
  if (host.wrong(arrays.host(result), work.n, work.pattern) != 0) {
    std::fprintf(stderr, "memory_modes: WRONG RESULT of a competitor\n");
    std::exit(1);
  }
  times.verified = now() - begin;
  return times;
}

}  // namespace

const char* name_of(ByHand way) {
  switch (way) {
    case ByHand::Pageable:
      return "pageable copies";
    case ByHand::Pinned:
      return "pinned copies";
    case ByHand::ManagedFaults:
      return "managed, by faults alone";
    case ByHand::Managed:
      return "managed, prefetch and discard";
    case ByHand::ManagedHints:
      return "managed, prefetch, discard and hints";
    case ByHand::ManagedInPlace:
      return "managed, in place";
    case ByHand::ManagedPieces:
      return "managed, in place, a block a multiprocessor";
    case ByHand::MappedPieces:
      return "mapped, a block a multiprocessor";
    case ByHand::Implicit:
      return "pageable copies around each launch";
    case ByHand::Mapped:
      break;
  }
  return "mapped";
}

template <class T>
MemoryWay memory_by_hand(CudaPlace place, ByHand way, MemoryWork work, HostSide& host, bool has_new_arrays) {
  if (has_new_arrays)
    return {[] {},
            [place, way, work, &host] {
              const double begin = now();
              PatternTimes times;
              {
                const Arrays<T> arrays(place, way, work);
                fill(arrays, work, host);
                times = timed(arrays, work, host, begin, way);
              }
              times.done = times.verified = now() - begin;
              return times;
            }};
  const auto arrays = std::make_shared<Arrays<T>>(place, way, work);
  return {[arrays, work, &host] { fill(*arrays, work, host); },
          [arrays, work, &host, way] { return timed(*arrays, work, host, now(), way); }};
}

template <class T>
double launch_us_by_hand(CudaPlace place, std::ptrdiff_t n, int launches) {
  const Arrays<T> arrays(place, ByHand::Pageable, {Pattern::Full, n});
  arrays.write();
  arrays.wait();
  const double begin = now();
  for (int k = 0; k < launches; ++k) arrays.first();
  arrays.wait();
  return (now() - begin) / launches * 1e6;
}

template MemoryWay memory_by_hand<float>(CudaPlace, ByHand, MemoryWork, HostSide&, bool);
template MemoryWay memory_by_hand<double>(CudaPlace, ByHand, MemoryWork, HostSide&, bool);
template double launch_us_by_hand<float>(CudaPlace, std::ptrdiff_t, int);
template double launch_us_by_hand<double>(CudaPlace, std::ptrdiff_t, int);

}  // namespace perf
