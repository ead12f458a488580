// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <strata/core/copy_execute.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/copy_kernels.hpp>
#include <strata/devices/cuda/memory/staging.hpp>
#include <strata/devices/cuda/queue.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/copy.hpp>
#include <strata/devices/host/worker_pool.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr index_t chunk_bytes = index_t{8} << 20;
constexpr int buffers = 3;
// So many threads keep up with the link; more would only take them from others.
constexpr int most_threads = 8;

// Parts of a copy, by whoever is free: those who sleep are not waited for. For who has their mutex.
Runner copy_runner() {
  const auto run_pieces = [](const void*, const ChunkRange& range, ChunkFunction function) {
    ChunkRange one_by_one = range;
    one_by_one.chunk = 1;
    one_by_one.schedule = Schedule::Dynamic;
    copy_threads().pool.run(one_by_one, function);
  };
  return {run_pieces, nullptr, copy_threads().pool.size()};
}

// Functions that CUDA is still to call.
std::atomic<int> open_calls = 0;

// Bytes of the host's memory that callbacks are still to write.
struct HostBytes {
  const char* begin = nullptr;
  const char* end = nullptr;
  friend bool operator==(const HostBytes&, const HostBytes&) = default;
};
class OpenWrites {
 public:
  static OpenWrites& get() {
    static OpenWrites& writes = *new OpenWrites;  // callbacks may come as late as the end of the process
    return writes;
  }
  void add(const HostBytes& bytes) {
    const std::lock_guard lock(mutex_);
    open_.push_back(bytes);
    count_.store(open_.size(), std::memory_order_release);
  }
  void remove(const HostBytes& bytes) {
    const std::lock_guard lock(mutex_);
    open_.erase(std::find(open_.begin(), open_.end(), bytes));
    count_.store(open_.size(), std::memory_order_release);
  }
  bool overlap(const HostBytes& bytes) {
    if (count_.load(std::memory_order_acquire) == 0) return false;
    const std::lock_guard lock(mutex_);
    return std::any_of(open_.begin(), open_.end(), [&](const HostBytes& open) {
      return open.begin < bytes.end && bytes.begin < open.end;
    });
  }

 private:
  std::mutex mutex_;
  std::vector<HostBytes> open_;
  std::atomic<std::size_t> count_ = 0;
};
// Of the destination of a piece.
HostBytes destination_of(void* data, const CopyPiece& piece) {
  index_t lowest = piece.dst_offset, highest = piece.dst_offset;
  for (int r = 0; r < piece.rank; ++r) {
    const index_t last = (piece.extent[r] - 1) * piece.dst_stride[r];
    (last < 0 ? lowest : highest) += last;
  }
  const char* const begin = static_cast<const char*>(data);
  return {begin + lowest, begin + highest + piece.run_bytes};
}

// One chunk's work on the host, freed by its callback.
struct HostWork {
  void* destination;
  const void* source;
  CopyPiece piece;
  HostBytes writes;  // beside buffers of the ring
};
void CUDART_CB run_host_work(void* raw) {
  const std::unique_ptr<HostWork> work(static_cast<HostWork*>(raw));
  const std::unique_lock lock(copy_threads().mutex, std::try_to_lock);
  const Runner runner = copy_runner();
  copy_pieces(work->destination, work->source, {&work->piece, 1},
              lock.owns_lock() ? chunk_runner(runner) : ChunkRunner());
  if (work->writes.begin != nullptr) OpenWrites::get().remove(work->writes);
  open_calls.fetch_sub(1, std::memory_order_release);
}

// On the queue's helper stream.
void enqueue_host_work(CudaQueue& queue, void* to, const void* from, const CopyPiece& piece, bool to_device) {
  const HostBytes writes = to_device ? HostBytes() : destination_of(to, piece);
  auto owned = std::make_unique<HostWork>(HostWork{to, from, piece, writes});
  if (!to_device) OpenWrites::get().add(writes);
  open_calls.fetch_add(1, std::memory_order_relaxed);
  const cudaError_t code = cudaLaunchHostFunc(queue.helper_stream(), run_host_work, owned.get());
  if (code != cudaSuccess) open_calls.fetch_sub(1, std::memory_order_relaxed);
  if (code != cudaSuccess && !to_device) OpenWrites::get().remove(writes);
  check_cuda(code, "enqueueing host work", queue.device());
  static_cast<void>(owned.release());
}

// `piece` cut along its loops into chunks of at most chunk_bytes, calling f(chunk) for each.
template <class F>
void for_each_chunk(const CopyPiece& piece, const F& f) {
  CopyPiece chunk = piece;
  if (bytes_of(piece) <= chunk_bytes) return f(chunk);
  if (piece.rank == 0) {
    for (index_t at = 0; at < piece.run_bytes; at += chunk_bytes) {
      chunk.run_bytes = std::min(chunk_bytes, piece.run_bytes - at);
      chunk.dst_offset = piece.dst_offset + at;
      chunk.src_offset = piece.src_offset + at;
      f(chunk);
    }
    return;
  }
  const index_t each = bytes_of(piece) / piece.extent[0];
  const index_t step = std::max<index_t>(1, chunk_bytes / each);
  for (index_t at = 0; at < piece.extent[0]; at += step) {
    chunk.extent[0] = std::min(step, piece.extent[0] - at);
    chunk.dst_offset = piece.dst_offset + at * piece.dst_stride[0];
    chunk.src_offset = piece.src_offset + at * piece.src_stride[0];
    if (each <= chunk_bytes) {
      f(chunk);
    } else {
      // One position of the outermost loop is too much: go on inside.
      CopyPiece inner = chunk;
      inner.rank = piece.rank - 1;
      for (int r = 0; r < inner.rank; ++r) {
        inner.extent[r] = piece.extent[r + 1];
        inner.dst_stride[r] = piece.dst_stride[r + 1];
        inner.src_stride[r] = piece.src_stride[r + 1];
      }
      for_each_chunk(inner, f);
    }
  }
}

// The chunk with one side packed: its elements in the order of the host's memory, without gaps. That way the
// host goes through its memory in order and the GPU does the turning.
struct Packed {
  CopyPiece host;    // between host memory and the buffer
  CopyPiece device;  // between the packed copy and the GPU's memory
};
Packed pack(const CopyPiece& chunk, bool to_device) {
  const index_t* const host_stride = to_device ? chunk.src_stride : chunk.dst_stride;
  int order[max_piece_rank];
  for (int r = 0; r < chunk.rank; ++r) order[r] = r;
  const auto distance = [&](int r) { return host_stride[r] < 0 ? -host_stride[r] : host_stride[r]; };
  std::stable_sort(order, order + chunk.rank, [&](int a, int b) { return distance(a) > distance(b); });
  index_t packed_stride[max_piece_rank] = {};
  index_t next = chunk.run_bytes;
  for (int k = chunk.rank - 1; k >= 0; --k) {
    packed_stride[order[k]] = next;
    next *= chunk.extent[order[k]];
  }
  Packed result{chunk, chunk};
  CopyPiece& in = to_device ? result.host : result.device;   // writes the packed copy
  CopyPiece& out = to_device ? result.device : result.host;  // reads it
  // The destination's strides descend in every piece.
  in.kind = out.kind = chunk.rank == 0 ? CopyKind::Contiguous : CopyKind::Strided;
  in.dst_offset = out.src_offset = 0;
  for (int k = 0; k < chunk.rank; ++k) {
    in.extent[k] = chunk.extent[order[k]];
    in.dst_stride[k] = packed_stride[order[k]];
    in.src_stride[k] = chunk.src_stride[order[k]];
    out.src_stride[k] = packed_stride[k];
  }
  return result;
}

}  // namespace

void enqueue_host_copy(CudaQueue& queue, void* destination, const void* source, const CopyPiece& piece,
                       cudaEvent_t before) {
  const int device = queue.device();
  const cudaStream_t helper = queue.helper_stream();
  struct Done {
    CudaInstance& gpu;
    const cudaEvent_t event = gpu.take_event();
    ~Done() { gpu.give_back(event); }
  } const done{queue.gpu()};  // taken before: nothing may throw once the work is enqueued
  check_cuda(cudaStreamWaitEvent(helper, before, 0), "waiting for an event", device);
  enqueue_host_work(queue, destination, source, piece, false);
  check_cuda(cudaEventRecord(done.event, helper), "recording an event", device);
  check_cuda(cudaStreamWaitEvent(queue.stream(), done.event, 0), "waiting for an event", device);
}

void enqueue_staged(CudaQueue& queue, void* destination, const void* source, const CopyPiece& piece,
                    bool to_device) {
  CudaInstance& gpu = queue.gpu();
  const int device = queue.device();
  const cudaStream_t stream = queue.stream(), helper = queue.helper_stream();
  const bool direct = piece.rank == 0;  // the GPU's side needs no kernel
  const auto chunk = static_cast<std::size_t>(std::min(chunk_bytes, bytes_of(piece)));

  struct Buffers {
    CudaQueue& queue;
    CudaInstance& gpu;
    void* host[buffers] = {};
    void* device[buffers] = {};
    cudaEvent_t moved[buffers] = {};    // by the link
    cudaEvent_t touched[buffers] = {};  // by the host
    bool is_ordered = false;            // the queue's stream waits for the host
    explicit Buffers(CudaQueue& q) : queue(q), gpu(q.gpu()) {}
    ~Buffers() {
      // Where it failed on the way. What CUDA says then is what it has said.
      if (!is_ordered && touched[0] != nullptr &&
          cudaEventRecord(touched[0], queue.helper_stream()) == cudaSuccess)
        static_cast<void>(cudaStreamWaitEvent(queue.stream(), touched[0], 0));
      queue.submitted();  // before, others may have found the queue idle
      for (int b = 0; b < buffers; ++b) {
        if (host[b] != nullptr) gpu.release(CudaMemoryKind::Pinned, host[b]);
        if (device[b] != nullptr) gpu.release(CudaMemoryKind::Device, device[b]);
        if (moved[b] != nullptr) gpu.give_back(moved[b]);
        if (touched[b] != nullptr) gpu.give_back(touched[b]);
      }
    }
  } ring(queue);
  const CudaDeviceScope scope(device);
  const auto prepare = [&](int b) {
    if (ring.host[b] != nullptr) return;
    ring.host[b] = gpu.allocate(CudaMemoryKind::Pinned, chunk);
    if (!direct) ring.device[b] = gpu.allocate(CudaMemoryKind::Device, chunk);
    if (ring.host[b] == nullptr || (!direct && ring.device[b] == nullptr))
      throw OutOfMemory("a copy between the host and Cuda{" + std::to_string(device) + "} needs " +
                        std::to_string(buffers * chunk) + " bytes of pinned and device memory for staging");
    ring.moved[b] = gpu.take_event();
    ring.touched[b] = gpu.take_event();
  };
  const auto order = [&](cudaEvent_t event, cudaStream_t before, cudaStream_t after) {
    check_cuda(cudaEventRecord(event, before), "recording an event", device);
    check_cuda(cudaStreamWaitEvent(after, event, 0), "waiting for an event", device);
  };
  const auto on_host = [&](void* to, const void* from, const CopyPiece& work) {
    enqueue_host_work(queue, to, from, work, to_device);
  };

  // The host's part begins after the queue's work so far.
  prepare(0);
  order(ring.touched[0], stream, helper);
  int b = 0;
  for_each_chunk(piece, [&](const CopyPiece& part) {
    const bool reused = ring.host[b] != nullptr;
    prepare(b);
    const Packed packed = pack(part, to_device);
    const auto bytes = static_cast<std::size_t>(bytes_of(part));
    if (to_device) {
      if (reused) check_cuda(cudaStreamWaitEvent(helper, ring.moved[b], 0), "waiting for an event", device);
      on_host(ring.host[b], source, packed.host);
      order(ring.touched[b], helper, stream);
      char* const target =
          direct ? static_cast<char*>(destination) + part.dst_offset : static_cast<char*>(ring.device[b]);
      check_cuda(cudaMemcpyAsync(target, ring.host[b], bytes, cudaMemcpyHostToDevice, stream),
                 "copying to a GPU", device);
      check_cuda(cudaEventRecord(ring.moved[b], stream), "recording an event", device);
      if (!direct)
        check_cuda(enqueue_copy(stream, destination, ring.device[b], packed.device), "unpacking a copy",
                   device);
    } else {
      if (reused) check_cuda(cudaStreamWaitEvent(stream, ring.touched[b], 0), "waiting for an event", device);
      if (!direct)
        check_cuda(enqueue_copy(stream, ring.device[b], source, packed.device), "packing a copy", device);
      const char* const from = direct ? static_cast<const char*>(source) + part.src_offset
                                      : static_cast<const char*>(ring.device[b]);
      check_cuda(cudaMemcpyAsync(ring.host[b], from, bytes, cudaMemcpyDeviceToHost, stream),
                 "copying from a GPU", device);
      order(ring.moved[b], stream, helper);
      on_host(destination, ring.host[b], packed.host);
      check_cuda(cudaEventRecord(ring.touched[b], helper), "recording an event", device);
    }
    b = (b + 1) % buffers;
  });
  // The queue goes on when the host is done; so does whoever gets the buffers next.
  order(ring.touched[(b + buffers - 1) % buffers], helper, stream);
  ring.is_ordered = true;
}

CopyThreads& copy_threads() {
  // Never destroyed: callbacks may come as late as the end of the process.
  static CopyThreads& threads =
      *new CopyThreads{WorkerPool({.workers = std::clamp(usable_processors() / 2, 1, most_threads),
                                   .pin = false,
                                   .spin_us = 5,
                                   .shares_processors = false,
                                   .on_start = {}}),
                       {}};
  return threads;
}

bool staging_is_under_way() { return open_calls.load(std::memory_order_acquire) > 0; }

bool is_to_be_written(const void* data, index_t bytes) {
  const auto* const begin = static_cast<const char*>(data);
  return OpenWrites::get().overlap({begin, begin + bytes});
}

}  // namespace strata::inline STRATA_ABI::detail
