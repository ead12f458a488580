// Staged copies that the calling thread carries out, with the help of others.
//
// Chunks of the array are copied by as many threads as are free to take one, while the link moves others, so
// that nobody waits for a thread that sleeps, nor for CUDA to call a function of the host. The calling thread
// alone talks to the stream.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/copy_kernels.hpp>
#include <strata/devices/cuda/memory/staging.hpp>
#include <strata/devices/cuda/queue.hpp>
#include <strata/devices/host/pause.hpp>
#include <strata/devices/host/worker_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr index_t least_chunk = index_t{256} << 10, most_chunk = index_t{512} << 10;
constexpr index_t most_chunks = most_staged_at_once / most_chunk;

// [0, bytes) in `count` chunks.
struct Chunks {
  index_t bytes, each, count;
  explicit Chunks(index_t all)
      : bytes(all),
        each(std::clamp((all / 8 + 4095) & index_t{-4096}, least_chunk, most_chunk)),
        count((all + each - 1) / each) {}
  index_t begin(index_t k) const { return std::min(k * each, bytes); }
  std::size_t size(index_t from, index_t to) const {
    return static_cast<std::size_t>(begin(to) - begin(from));
  }
};

// Calls f(k, is_caller) for each chunk, in order of their begins, by several threads.
template <class F>
void for_all(const Chunks& chunks, const F& f) {
  const auto do_some = [](const void* context, index_t begin, index_t end, int worker) {
    for (index_t k = begin; k < end; ++k) (*static_cast<const F*>(context))(k, worker == 0);
  };
  copy_threads().run({.begin = 0, .end = chunks.count, .chunk = 1, .schedule = Schedule::Dynamic},
                     {do_some, &f});
}

// A pinned buffer, given back when the work that the queues have by then is done.
class PinnedBuffer {
 public:
  PinnedBuffer(CudaInstance& gpu, index_t bytes)
      : gpu_(gpu),
        data_(static_cast<char*>(gpu.allocate(CudaMemoryKind::Pinned, static_cast<std::size_t>(bytes)))) {}
  ~PinnedBuffer() {
    if (data_ != nullptr) gpu_.release(CudaMemoryKind::Pinned, data_);
  }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  char* data() const { return data_; }

 private:
  CudaInstance& gpu_;
  char* const data_;
};

class Events {
 public:
  Events(CudaInstance& gpu, index_t count) : gpu_(gpu) {
    for (; count_ < count; ++count_) events_[static_cast<std::size_t>(count_)] = gpu.take_event();
  }
  ~Events() {
    for (index_t k = 0; k < count_; ++k) gpu_.give_back(events_[static_cast<std::size_t>(k)]);
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  cudaEvent_t operator[](index_t k) const { return events_[static_cast<std::size_t>(k)]; }

 private:
  CudaInstance& gpu_;
  index_t count_ = 0;
  std::array<cudaEvent_t, most_chunks> events_;
};

}  // namespace

bool stage_to_device(CudaQueue& queue, char* destination, const char* source, index_t bytes) {
  const int device = queue.device();
  const Chunks chunks(bytes);
  const PinnedBuffer buffer(queue.gpu(), bytes);
  if (buffer.data() == nullptr) return false;
  const cudaStream_t stream = queue.stream();
  queue.submitted();  // from here on the buffer may be in use, also if something fails

  std::array<std::atomic<bool>, most_chunks> is_filled{};
  index_t sent = 0;
  const auto send_to = [&](index_t end) {
    if (end == sent) return;
    const index_t at = chunks.begin(sent);
    check_cuda(cudaMemcpyAsync(destination + at, buffer.data() + at, chunks.size(sent, end),
                               cudaMemcpyHostToDevice, stream),
               "copying to a GPU", device);
    sent = end;
  };
  for_all(chunks, [&](index_t k, bool is_caller) {
    const index_t at = chunks.begin(k);
    std::memcpy(buffer.data() + at, source + at, chunks.size(k, k + 1));
    is_filled[static_cast<std::size_t>(k)].store(true, std::memory_order_release);
    if (!is_caller) return;
    index_t end = sent;
    while (end < chunks.count && is_filled[static_cast<std::size_t>(end)].load(std::memory_order_acquire))
      ++end;
    send_to(end);
  });
  send_to(chunks.count);
  return true;
}

bool stage_to_host(CudaQueue& queue, char* destination, const char* source, index_t bytes) {
  const int device = queue.device();
  const Chunks chunks(bytes);
  const bool by_kernel =
      bytes <= most_brought_by_kernel && queue.ends_with_kernel() &&
      (reinterpret_cast<std::uintptr_t>(source) | static_cast<std::uintptr_t>(bytes)) % 4 == 0;
  const PinnedBuffer buffer(queue.gpu(), bytes);
  if (buffer.data() == nullptr) return false;
  const Events has_come(queue.gpu(), chunks.count);
  const cudaStream_t stream = queue.stream();
  const std::uint64_t own = queue.submitted();

  for (index_t k = 0; k < chunks.count; ++k) {
    const index_t at = chunks.begin(k);
    const std::size_t size = chunks.size(k, k + 1);
    if (by_kernel) {
      CopyPiece piece{};
      piece.kind = CopyKind::Contiguous;
      piece.dst_offset = piece.src_offset = at;
      piece.run_bytes = static_cast<index_t>(size);
      check_cuda(enqueue_copy(stream, buffer.data(), source, piece), "copying from a GPU", device);
    } else {
      check_cuda(cudaMemcpyAsync(buffer.data() + at, source + at, size, cudaMemcpyDeviceToHost, stream),
                 "copying from a GPU", device);
    }
    check_cuda(cudaEventRecord(has_come[k], stream), "recording an event", device);
  }
  // Threads are called when there is something to copy: the queue may have much to do before.
  check_cuda(cudaEventSynchronize(has_come[0]), "copying from a GPU", device);
  std::atomic<index_t> num_come = 1;
  for_all(chunks, [&](index_t k, bool) {
    if (num_come.load(std::memory_order_acquire) <= k) {
      const CudaDeviceScope scope(device);
      cudaError_t state = cudaErrorNotReady;
      while ((state = cudaEventQuery(has_come[k])) == cudaErrorNotReady) pause_processor();
      check_cuda(state, "copying from a GPU", device);
      index_t known = num_come.load(std::memory_order_relaxed);
      while (known <= k && !num_come.compare_exchange_weak(known, k + 1, std::memory_order_acq_rel)) {
      }
    }
    const index_t at = chunks.begin(k);
    std::memcpy(destination + at, buffer.data() + at, chunks.size(k, k + 1));
  });
  queue.ended(own);
  return true;
}

}  // namespace strata::inline STRATA_ABI::detail
