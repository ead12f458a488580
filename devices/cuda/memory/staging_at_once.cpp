// Staged copies that the calling thread carries out, with the help of others.
//
// Chunks of the array are copied by as many threads as are free to take one, while the link moves others, so
// that nobody waits for a thread that sleeps, nor for CUDA to call a function of the host. The calling thread
// alone enqueues.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>

#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/copy_kernels.hpp>
#include <strata/devices/cuda/memory/staging.hpp>
#include <strata/devices/cuda/queue.hpp>
#include <strata/devices/host/pause.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr index_t least_chunk = index_t{256} << 10, most_chunk = index_t{512} << 10;
constexpr index_t most_chunks = most_staged_at_once / most_chunk;
// Of the queue's work before a copy to the host. As much more is little beside what takes that long.
constexpr std::chrono::milliseconds longest_wait{1};

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
  if (chunks.count == 1) return f(0, true);
  const auto do_some = [](const void* context, index_t begin, index_t end, int worker) {
    for (index_t k = begin; k < end; ++k) (*static_cast<const F*>(context))(k, worker == 0);
  };
  const std::lock_guard lock(copy_threads().mutex);
  copy_threads().pool.run({.begin = 0, .end = chunks.count, .chunk = 1, .schedule = Schedule::Dynamic},
                          {do_some, &f});
}

// A pinned buffer, given back when the work that the stream has by then is done.
class StagingBuffer {
 public:
  StagingBuffer(CudaQueue& queue, index_t bytes)
      : gpu_(queue.gpu()),
        user_(queue.stream()),
        bytes_(static_cast<std::size_t>(bytes)),
        data_(static_cast<char*>(gpu_.take_staging(bytes_))) {}
  ~StagingBuffer() {
    if (data_ != nullptr) gpu_.give_staging(data_, bytes_, user_);
  }
  StagingBuffer(const StagingBuffer&) = delete;
  StagingBuffer& operator=(const StagingBuffer&) = delete;
  char* data() const { return data_; }
  void note_unused() { user_ = nullptr; }

 private:
  CudaInstance& gpu_;
  cudaStream_t user_;
  const std::size_t bytes_;
  char* const data_;
};

class ChunkEvents {
 public:
  ChunkEvents(CudaInstance& gpu, index_t count) : ChunkEvents(gpu) {
    for (; count_ < count; ++count_) events_[static_cast<std::size_t>(count_)] = gpu.take_event();
  }
  ~ChunkEvents() {
    for (index_t k = 0; k < count_; ++k) gpu_.give_back(events_[static_cast<std::size_t>(k)]);
  }
  ChunkEvents(const ChunkEvents&) = delete;
  ChunkEvents& operator=(const ChunkEvents&) = delete;
  cudaEvent_t operator[](index_t k) const { return events_[static_cast<std::size_t>(k)]; }

 private:
  // Delegated to, so that the destructor gives back what was taken where take_event throws.
  explicit ChunkEvents(CudaInstance& gpu) : gpu_(gpu) {}

  CudaInstance& gpu_;
  index_t count_ = 0;
  std::array<cudaEvent_t, most_chunks> events_;
};

}  // namespace

Staged stage_to_device(CudaQueue& queue, const CopySide& destination, const CopySide& source,
                       const CopyPiece& piece) {
  const Chunks chunks(piece.run_bytes);
  const StagingBuffer buffer(queue, piece.run_bytes);
  if (buffer.data() == nullptr) return Staged::No;
  const cudaStream_t stream = queue.stream();
  char* const to = static_cast<char*>(destination.data) + piece.dst_offset;
  const char* const from = static_cast<const char*>(source.data) + piece.src_offset;

  std::array<std::atomic<bool>, most_chunks> is_filled{};
  index_t sent = 0;
  const auto send_to = [&](index_t end) {
    if (end == sent) return;
    const index_t at = chunks.begin(sent);
    const cudaError_t code =
        cudaMemcpyAsync(to + at, buffer.data() + at, chunks.size(sent, end), cudaMemcpyHostToDevice, stream);
    if (code != cudaSuccess) queue.fail_copy(code, destination, source);
    sent = end;
  };
  for_all(chunks, [&](index_t k, bool is_caller) {
    const index_t at = chunks.begin(k);
    std::memcpy(buffer.data() + at, from + at, chunks.size(k, k + 1));
    is_filled[static_cast<std::size_t>(k)].store(true, std::memory_order_release);
    if (!is_caller) return;
    index_t end = sent;
    while (end < chunks.count && is_filled[static_cast<std::size_t>(end)].load(std::memory_order_acquire))
      ++end;
    send_to(end);
  });
  send_to(chunks.count);
  return Staged::Enqueued;
}

Staged stage_to_host(CudaQueue& queue, const CopySide& destination, const CopySide& source,
                     const CopyPiece& piece) {
  const index_t bytes = piece.run_bytes;
  const Chunks chunks(bytes);
  char* const to = static_cast<char*>(destination.data) + piece.dst_offset;
  const char* const from = static_cast<const char*>(source.data) + piece.src_offset;
  const bool by_kernel =
      bytes <= most_brought_by_kernel && queue.ends_with_kernel() &&
      (reinterpret_cast<std::uintptr_t>(from) | static_cast<std::uintptr_t>(bytes)) % 4 == 0;
  StagingBuffer buffer(queue, bytes);
  if (buffer.data() == nullptr) return Staged::No;
  const ChunkEvents has_come(queue.gpu(), chunks.count);
  const cudaStream_t stream = queue.stream();
  const auto check = [&](cudaError_t code) {
    if (code != cudaSuccess) queue.fail_copy(code, destination, source);
  };

  const std::uint64_t before = queue.submissions();
  for (index_t k = 0; k < chunks.count; ++k) {
    const index_t at = chunks.begin(k);
    const std::size_t size = chunks.size(k, k + 1);
    if (by_kernel) {
      CopyPiece part{};
      part.kind = CopyKind::Contiguous;
      part.dst_offset = part.src_offset = at;
      part.run_bytes = static_cast<index_t>(size);
      check(enqueue_copy(stream, buffer.data(), from, part));
    } else {
      check(cudaMemcpyAsync(buffer.data() + at, from + at, size, cudaMemcpyDeviceToHost, stream));
    }
    check(cudaEventRecord(has_come[k], stream));
  }
  const std::uint64_t own = queue.submitted();

  // Threads are called when there is something to copy.
  const auto end = std::chrono::steady_clock::now() + longest_wait;
  cudaError_t state = cudaErrorNotReady;
  while ((state = cudaEventQuery(has_come[0])) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() > end) {
      CopyPiece all{};
      all.kind = CopyKind::Contiguous;
      all.run_bytes = bytes;
      enqueue_host_copy(queue, to, buffer.data(), all, has_come[chunks.count - 1]);
      return Staged::Enqueued;
    }
    pause_processor();
  }
  check(state);
  std::atomic<index_t> num_come = 1;
  for_all(chunks, [&](index_t k, bool) {
    if (num_come.load(std::memory_order_acquire) <= k) {
      const CudaDeviceScope scope(queue.device());
      cudaError_t found = cudaErrorNotReady;
      while ((found = cudaEventQuery(has_come[k])) == cudaErrorNotReady) pause_processor();
      check(found);
      index_t known = num_come.load(std::memory_order_relaxed);
      while (known <= k && !num_come.compare_exchange_weak(known, k + 1, std::memory_order_acq_rel)) {
      }
    }
    const index_t at = chunks.begin(k);
    std::memcpy(to + at, buffer.data() + at, chunks.size(k, k + 1));
  });
  buffer.note_unused();
  // Waits for events are enqueued without the mutex: what another thread counted meanwhile may come later.
  if (own == before + 1) queue.ended(own);
  return Staged::Done;
}

// ---- what is taken

void* CudaInstance::take_staging(std::size_t bytes) {
  // So much can be behind a kernel that takes long.
  constexpr std::size_t most_staged_bytes = std::size_t{256} << 20;
  const std::lock_guard lock(memory_mutex_);
  if (!quarantine_.empty()) reclaim(false);
  if (staged_bytes_ + bytes > most_staged_bytes) return nullptr;
  void* const data = heap(CudaMemoryKind::Pinned).allocate(bytes);
  if (data != nullptr) staged_bytes_ += bytes;
  return data;
}

void CudaInstance::give_staging(void* memory, std::size_t bytes, cudaStream_t user) noexcept {
  if (runtime_ended()) return release(CudaMemoryKind::Pinned, memory);
  const DroppedCudaErrors dropped;
  Quarantined block{CudaMemoryKind::Pinned, memory, {}, bytes};
  try {
    if (user != nullptr) {
      block.note_user(*this, user);
    }
    const std::lock_guard lock(memory_mutex_);
    if (!block.until.empty()) return quarantine_.push_back(std::move(block));
    free_now(block.kind, memory);
    staged_bytes_ -= bytes;
  } catch (...) {
    // Without an event to wait for, the block is never used again.
    block.drop_events();
  }
}

}  // namespace strata::inline STRATA_ABI::detail
