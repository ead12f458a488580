// Copies, fills and conversions on queues of GPUs. What lies in one run, or in runs at one pitch, is for
// CUDA's copy engines; what both sides of can be reached by the GPU, for a kernel; the rest goes through
// staging.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <strata/core/allocation_report.hpp>
#include <strata/core/conversion.hpp>
#include <strata/core/copy_execute.hpp>
#include <strata/core/copy_plan.hpp>
#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/graph.hpp>
#include <strata/devices/cuda/memory/conversion_kernels.hpp>
#include <strata/devices/cuda/memory/copy_kernels.hpp>
#include <strata/devices/cuda/memory/links.hpp>
#include <strata/devices/cuda/memory/staging.hpp>
#include <strata/devices/cuda/queue.hpp>
#include <strata/devices/host/space.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr index_t most_pitch = (index_t{1} << 31) - 1;
// Shorter rows cost the copy engines more than a kernel or the host's threads need for them.
constexpr index_t shortest_row = 2048;
// What a GPU sends to another one on a queue of its own, and is no longer, is for a kernel: CUDA's copies of
// a few bytes go by a stream of the other one's, and cost the host 14 us, a kernel 3.
constexpr index_t most_sent_by_kernel = index_t{1} << 20;

bool is_device(const CopySide& side) { return side.space.kind == CudaSpace::kind; }
bool is_shared(const CopySide& side) {
  return side.space.kind == CudaManagedSpace::kind || side.space.kind == CudaPinnedSpace::kind;
}
bool is_host(const CopySide& side) { return side.space.kind == HostSpace::kind; }

// CUDA need not find out what it is told.
cudaMemcpyKind kind_of(const CopySide& destination, const CopySide& source) {
  const auto is_of_host = [](const CopySide& side) {
    return is_host(side) || side.space.kind == CudaPinnedSpace::kind;
  };
  if (is_of_host(source) && is_device(destination)) return cudaMemcpyHostToDevice;
  if (is_device(source) && is_of_host(destination)) return cudaMemcpyDeviceToHost;
  return cudaMemcpyDefault;
}

std::string described(const CopySide& side) {
  return "\"" + std::string(side.label) + "\" in " + describe_space(side.space);
}

void check_places(const CopySide& destination, const CopySide& source, int here) {
  bool owns = false;
  for (const CopySide* side : {&destination, &source}) {
    if (!is_device(*side) && !is_shared(*side) && !is_host(*side))
      throw WrongDevice("a copy on Cuda{" + std::to_string(here) + "} cannot reach " + described(*side) +
                        "; copy through a host mirror");
    owns = owns || is_shared(*side) || (is_device(*side) && side->space.instance == here);
  }
  if (!owns)
    throw WrongDevice("a copy on a queue of Cuda{" + std::to_string(here) + "} was given " +
                      described(destination) + " and " + described(source) +
                      "; use a queue of the GPU that owns one of them");
}

cudaError_t copy_pitched(cudaStream_t stream, void* destination, const void* source, const CopyPiece& piece) {
  auto* const dst = static_cast<char*>(destination) + piece.dst_offset;
  const auto* const src = static_cast<const char*>(source) + piece.src_offset;
  const auto run = static_cast<std::size_t>(piece.run_bytes);
  const int row = piece.rank - 1;
  const auto rows = static_cast<std::size_t>(piece.extent[row]);
  const auto dst_pitch = static_cast<std::size_t>(piece.dst_stride[row]);
  const auto src_pitch = static_cast<std::size_t>(piece.src_stride[row]);
  if (piece.kind == CopyKind::Pitched2d)
    return cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, run, rows, cudaMemcpyDefault, stream);
  cudaMemcpy3DParms all{};
  all.srcPtr = {const_cast<char*>(src), src_pitch, run,
                static_cast<std::size_t>(piece.src_stride[0]) / src_pitch};
  all.dstPtr = {dst, dst_pitch, run, static_cast<std::size_t>(piece.dst_stride[0]) / dst_pitch};
  all.extent = {run, rows, static_cast<std::size_t>(piece.extent[0])};
  all.kind = cudaMemcpyDefault;
  return cudaMemcpy3DAsync(&all, stream);
}

// Addresses and lengths that a kernel copies by units of 4 bytes or more.
bool has_units(const CopySide& destination, const CopySide& source, const CopyPiece& piece) {
  return (reinterpret_cast<std::uintptr_t>(destination.data) | reinterpret_cast<std::uintptr_t>(source.data) |
          static_cast<std::uintptr_t>(piece.dst_offset | piece.src_offset | piece.run_bytes)) %
             4 ==
         0;
}

bool fits_pitched(const CopyPiece& piece) {
  if (piece.kind != CopyKind::Pitched2d && piece.kind != CopyKind::Pitched3d) return false;
  const int row = piece.rank - 1;
  return piece.run_bytes >= shortest_row && piece.dst_stride[row] <= most_pitch &&
         piece.src_stride[row] <= most_pitch;
}

bool is_pageable(const void* data) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return true;
  }
  return attributes.type == cudaMemoryTypeUnregistered;
}

/// Counts what a function enqueues on a queue, also where it throws after it has enqueued some.
struct CountSubmissions {
  CudaStream& stream;
  /// What was counted before the one call, if CUDA has returned from that when the copy was done.
  std::uint64_t done_after = UINT64_MAX;
  ~CountSubmissions() {
    const std::uint64_t own = __atomic_add_fetch(&stream.submitted, 1, __ATOMIC_RELAXED);
    if (own == done_after + 1) stream.note_ended(own);
  }
};

}  // namespace

void CudaQueue::copy(const CopySide& destination, const CopySide& source, std::size_t element_bytes) {
  require_running("deep_copy");
  const int here = device();
  check_places(destination, source, here);
  const CopyPieces pieces = plan_copy(*destination.layout, *source.layout, element_bytes);
  if (pieces.empty()) return;
  if (pieces.front().kind == CopyKind::ElementWise) return copy_by_host(destination, source, element_bytes);
  const index_t distance = static_cast<char*>(destination.data) - static_cast<char*>(source.data);
  if (destination.space == source.space) {
    if (copies_onto_itself(pieces, distance)) return;
    if (sides_overlap(pieces, distance))
      throw CopyError("deep_copy: parts of \"" + std::string(destination.label) + "\" overlap in " +
                      describe_space(destination.space) + "; copy through an array of its own");
  }

  const auto far = [&](const CopySide& side) { return is_device(side) && side.space.instance != here; };
  const CopySide* const peer = far(destination) ? &destination : far(source) ? &source : nullptr;
  const CopySide* const host = is_host(destination) ? &destination : is_host(source) ? &source : nullptr;
  const std::lock_guard lock(mutex);
  const CudaDeviceScope scope(here);
  if (peer != nullptr) __atomic_store_n(&stream_.reaches_peers, true, __ATOMIC_RELAXED);
  const auto check = [&](cudaError_t code) {
    if (code != cudaSuccess) fail_copy(code, destination, source);
  };
  CountSubmissions count{stream_};
  for (const CopyPiece& piece : pieces) {
    const bool contiguous = piece.kind == CopyKind::Contiguous;
    // What is copied, not where the array begins, or would begin if all of it were there.
    const char* const at = host == nullptr ? nullptr
                                           : static_cast<const char*>(host->data) +
                                                 (host == &destination ? piece.dst_offset : piece.src_offset);
    if (host != nullptr) {
      // CUDA may read what is pageable now, before a function of the host, or a staged copy, that comes first
      // has written it. Nothing comes before a copy on an idle queue, which so waits for no other's
      // functions.
      const bool reads_too_early = host == &source && recording == nullptr &&
                                   (CudaHostCall::any_open() || is_to_be_written(at, piece.run_bytes)) &&
                                   !idle();
      const Staged at_once = contiguous ? stage_at_once(destination, source, piece) : Staged::No;
      // This counts the copy once more.
      if (at_once == Staged::Done && pieces.size() == 1)
        count.done_after = __atomic_load_n(&stream_.ended, __ATOMIC_RELAXED);
      if (at_once != Staged::No) continue;
      const bool staged = contiguous
                              ? (piece.run_bytes >= staged_from_bytes || reads_too_early) && is_pageable(at)
                              : !fits_pitched(piece) || is_pageable(at);
      if (staged && recording != nullptr)
        throw Error(
            "the copy of " + described(source) + " to " + described(destination) +
            " goes through staging buffers, which cannot be recorded; use host arrays in pinned memory "
            "(CudaPinned) of the same layout");
      if (staged) {
        enqueue_staged(*this, destination.data, source.data, piece, host == &source);
        continue;
      }
    } else if (!contiguous) {
      if (peer != nullptr && !reach_peer(here, peer->space.instance))
        throw CopyError(
            "deep_copy: " + described(source) + " to " + described(destination) +
            ": the GPUs have no link to each other, and the elements lie apart; copy through a host "
            "mirror, or between arrays of one layout");
      check(enqueue_copy(stream(), destination.data, source.data, piece));
      continue;
    }
    if (contiguous && peer == nullptr && destination.space.kind == CudaPinnedSpace::kind &&
        is_device(source) && piece.run_bytes >= least_brought_by_kernel &&
        piece.run_bytes <= most_brought_by_kernel && has_units(destination, source, piece) &&
        recording == nullptr && ends_with_kernel()) {
      check(enqueue_copy(stream_for_copy(piece.run_bytes), destination.data, source.data, piece));
      continue;
    }
    const bool reaches = peer != nullptr && reach_peer(here, peer->space.instance);  // for speed
    // Memory of others, of a pool or mapping of theirs, may be closed to kernels of this GPU.
    if (contiguous && reaches && peer == &destination && peer->is_own &&
        piece.run_bytes <= most_sent_by_kernel)
      check(enqueue_copy(stream(), destination.data, source.data, piece));
    else if (contiguous) {
      // CUDA waits for what comes to pageable memory, as it passes through buffers of its own: then nothing
      // need be asked, which takes 2 us. Where GPUs reach such memory it need not be so.
      const bool waits = host == &destination && is_device(source) && pieces.size() == 1 &&
                         recording == nullptr && !gpu_.reaches_pageable_memory() && is_pageable(at);
      const std::uint64_t before = submissions();
      check(cudaMemcpyAsync(static_cast<char*>(destination.data) + piece.dst_offset,
                            static_cast<const char*>(source.data) + piece.src_offset,
                            static_cast<std::size_t>(piece.run_bytes), kind_of(destination, source),
                            stream_for_copy(piece.run_bytes)));
      if (waits) count.done_after = before;
    } else check(copy_pitched(stream(), destination.data, source.data, piece));
  }
}

// Only where the calling thread may read now, and wait a moment.
Staged CudaQueue::stage_at_once(const CopySide& destination, const CopySide& source, const CopyPiece& piece) {
  const bool to_device = is_device(destination);
  const index_t bytes = piece.run_bytes;
  if (!(to_device || is_device(source)) || recording != nullptr || gpu_.reaches_pageable_memory() ||
      bytes < (to_device ? least_staged_to_device : least_staged_to_host) || bytes > most_staged_at_once ||
      CudaHostCall::any_open() || staging_is_under_way())
    return Staged::No;
  if (!is_pageable(to_device ? static_cast<const char*>(source.data) + piece.src_offset
                             : static_cast<char*>(destination.data) + piece.dst_offset))
    return Staged::No;
  // Others may have enqueued a function that is to write what is read here.
  if (to_device &&
      (__atomic_load_n(&stream_.has_outsiders, __ATOMIC_RELAXED) ||
       __atomic_load_n(&stream_.follows_outsiders, __ATOMIC_RELAXED)) &&
      !idle())
    return Staged::No;
  // Who has other queues at work would let them run dry, waiting for this one.
  if (!to_device && bytes >= staged_from_bytes && CudaInstance::others_are_busy(stream_)) return Staged::No;
  return to_device ? stage_to_device(*this, destination, source, piece)
                   : stage_to_host(*this, destination, source, piece);
}

void CudaQueue::fail_copy(cudaError_t code, const CopySide& destination, const CopySide& source) const {
  if (is_sticky(code)) fail_cuda(code, "a copy", device());
  static_cast<void>(cudaGetLastError());
  throw CopyError("the copy of " + described(source) + " to " + described(destination) +
                  " failed: " + cuda_text(code));
}

// User-supplied layouts can be evaluated on the host only. The GPU's side is copied to the host as a whole,
// from the lowest to the highest offset, and back.
void CudaQueue::copy_by_host(const CopySide& destination, const CopySide& source, std::size_t element_bytes) {
  if (recording != nullptr) check_recordable("a copy of a user-supplied layout", *this, true);
  struct HostCopy {
    std::vector<char> bytes;
    char* base;  // of offset 0
    index_t lowest = 0;
  };
  const auto bring = [&](const CopySide& side) {
    if (!is_device(side)) {
      wait();
      return HostCopy{{}, static_cast<char*>(side.data)};
    }
    const OffsetBounds bounds = offset_bounds(*side.layout);
    const auto size = static_cast<index_t>(element_bytes);
    HostCopy copy{std::vector<char>(static_cast<std::size_t>((bounds.highest - bounds.lowest + 1) * size)),
                  nullptr, bounds.lowest * size};
    copy.base = copy.bytes.data() - copy.lowest;
    const cudaError_t code = cudaMemcpyAsync(copy.bytes.data(), static_cast<char*>(side.data) + copy.lowest,
                                             copy.bytes.size(), cudaMemcpyDefault, stream());
    if (code != cudaSuccess) fail_copy(code, destination, source);
    wait();
    return copy;
  };
  const CudaDeviceScope scope(device());
  const HostCopy from = bring(source), to = bring(destination);
  copy_elementwise(to.base, *destination.layout, from.base, *source.layout, element_bytes);
  if (to.bytes.empty()) return;
  const cudaError_t code = cudaMemcpyAsync(static_cast<char*>(destination.data) + to.lowest, to.bytes.data(),
                                           to.bytes.size(), cudaMemcpyDefault, stream());
  if (code != cudaSuccess) fail_copy(code, destination, source);
  submitted();
  wait();
}

void CudaQueue::fill(const CopySide& destination, const void* value, std::size_t element_bytes) {
  require_running("deep_copy");
  const int here = device();
  if (!is_shared(destination) && !(is_device(destination) && destination.space.instance == here))
    throw WrongDevice("a fill on a queue of Cuda{" + std::to_string(here) + "} was given " +
                      described(destination) + "; use a queue of the GPU that owns it");
  const CopyPieces pieces = plan_fill(*destination.layout, element_bytes);
  if (pieces.empty()) return;
  if (pieces.front().kind == CopyKind::ElementWise) return fill_by_host(destination, value, element_bytes);
  const auto* const bytes = static_cast<const unsigned char*>(value);
  bool same = true;
  for (std::size_t k = 1; k < element_bytes; ++k) same = same && bytes[k] == bytes[0];

  const std::lock_guard lock(mutex);
  const CudaDeviceScope scope(here);
  struct Placed {
    CudaInstance& gpu;
    void* memory = nullptr;
    ~Placed() {
      if (memory != nullptr) gpu.release(CudaMemoryKind::Device, memory);
    }
  } placed{gpu_};  // released after what uses it is counted
  const CountSubmissions count{stream_};
  const void* large = nullptr;
  const bool is_large = !same && element_bytes > most_fill_bytes;
  if (is_large && recording != nullptr) {
    large = recording->place(value, element_bytes);
  } else if (is_large) {
    placed.memory = gpu_.allocate(CudaMemoryKind::Device, element_bytes);
    if (placed.memory == nullptr)
      throw OutOfMemory("no memory for the value of a fill on Cuda{" + std::to_string(here) + "}");
    check_cuda(cudaMemcpyAsync(placed.memory, value, element_bytes, cudaMemcpyHostToDevice, stream()),
               "a fill", here);
    large = placed.memory;
  }
  for (const CopyPiece& piece : pieces) {
    // Beyond the caches of GPUs the kernel is the faster one. Where all bytes are the same it fills by bytes,
    // whatever the elements: the value of a large one is in memory of the host.
    constexpr index_t most_set_bytes = index_t{64} << 20;
    if (same && piece.kind == CopyKind::Contiguous && piece.run_bytes <= most_set_bytes)
      check_cuda(cudaMemsetAsync(static_cast<char*>(destination.data) + piece.dst_offset, bytes[0],
                                 static_cast<std::size_t>(piece.run_bytes), stream()),
                 "a fill", here);
    else
      check_cuda(enqueue_fill(stream(), destination.data, piece, large != nullptr ? large : value,
                              same ? 1 : element_bytes),
                 "a fill", here);
  }
}

void CudaQueue::fill_by_host(const CopySide& destination, const void* value, std::size_t element_bytes) {
  // A copy whose source is one element everywhere.
  LayoutDescriptor one = *destination.layout;
  one.offset = [](const void*, const index_t*) { return index_t{0}; };
  one.span = 1;
  CopySide source{const_cast<void*>(value), {HostSpace::kind, 0}, &one, "a value", nullptr};
  copy_by_host(destination, source, element_bytes);
}

void CudaQueue::convert(const CopySide& destination, const CopySide& source, const Conversion& how) {
  require_running("deep_copy");
  const int here = device();
  for (const CopySide* side : {&destination, &source})
    if (!is_shared(*side) && !(is_device(*side) && side->space.instance == here))
      throw WrongDevice("a conversion on a queue of Cuda{" + std::to_string(here) + "} was given " +
                        described(*side) + "; use a queue of the GPU that owns it");
  const CopyPieces pieces =
      plan_copy(*destination.layout, *source.layout, static_cast<std::size_t>(how.parts));
  const std::lock_guard lock(mutex);
  const CudaDeviceScope scope(here);
  const CountSubmissions count{stream_};
  for (const CopyPiece& piece : pieces) {
    const cudaError_t code = enqueue_conversion(stream(), destination.data, source.data, piece, how);
    if (code != cudaSuccess) fail_copy(code, destination, source);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
