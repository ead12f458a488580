// CudaQueue::prefetch: pages of managed memory, moved and advised on as a launch declares that it uses them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include <strata/core/profiling/hooks.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/managed_blocks.hpp>
#include <strata/devices/cuda/memory/managed_calls.hpp>
#include <strata/devices/cuda/memory/managed_heap.hpp>
#include <strata/devices/cuda/memory/prefetch_plan.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

PrefetchRange resolved(const ManagedRange& range, const ManagedBlock* block) {
  const auto at = [](const char* address) { return reinterpret_cast<std::uintptr_t>(address); };
  PrefetchRange known{
      at(range.begin), at(range.begin) + range.bytes, at(range.begin),      at(range.begin) + range.bytes,
      false,           range.reads || !range.writes,  range.has_other_users};
  if (block == nullptr) return known;
  known.block_begin = at(block->begin);
  known.block_end = known.block_begin + block->bytes;
  known.end = std::min(known.end, known.block_end);
  known.owns_runs = known.block_begin % managed_run == 0;
  return known;
}

// It costs less to move small blocks again than to advise on them.
bool is_advised_on(const ManagedBlock* block) { return block != nullptr && block->bytes >= managed_run; }

// Advice is needed, without which an access over the link moves the page.
bool stays(const ManagedRange& range, const ManagedBlock* block) {
  return range.stays && (range.at_host ? block != nullptr : is_advised_on(block));
}

void advise(const ManagedRange& range, ManagedBlock& block, bool to_host, int device) {
  std::vector<AdviceCall> calls;
  const auto begin = static_cast<std::size_t>(range.begin - block.begin), end = begin + range.bytes;
  if (range.stays) block.advice.reached_from(begin, end, device, calls);
  else if (range.writes) block.advice.written(begin, end, calls);
  if (range.has_other_users && !range.writes && !range.stays) block.advice.read_by_many(begin, end, calls);
  if (range.has_other_users && range.writes && !to_host) block.advice.at_home(begin, end, device, calls);
  give_advice(calls, block.begin, device);
}

// Enqueues pieces [first, last), which all discard or all do not. False where the system does not know how.
bool enqueue_batch(const PrefetchPiece* first, const PrefetchPiece* last, bool discards, int place,
                   CudaQueue& queue) {
  static std::atomic<bool> is_unknown[2] = {};
  // The stream that CUDA calls NULL takes no batch.
  if (queue.stream() == nullptr || is_unknown[discards].load(std::memory_order_relaxed)) return false;
  std::vector<void*> begins;
  std::vector<std::size_t> bytes;
  for (const PrefetchPiece* piece = first; piece != last; ++piece) {
    begins.push_back(reinterpret_cast<void*>(piece->begin));
    bytes.push_back(piece->end - piece->begin);
  }
  const cudaError_t code =
      prefetch_batch(begins.data(), bytes.data(), begins.size(), place, discards, queue.stream());
  if (code == cudaErrorNotSupported || code == cudaErrorCallRequiresNewerDriver) {
    static_cast<void>(cudaGetLastError());
    is_unknown[discards].store(true, std::memory_order_relaxed);
    return false;
  }
  check_cuda(code, "prefetching managed memory", queue.device());
  return true;
}

}  // namespace

std::size_t CudaQueue::prefetch(const ManagedRange* ranges, int count, bool to_host) {
  require_running("a prefetch");
  if (!gpu_.has_concurrent_managed_access()) return 0;
  const std::lock_guard lock(mutex);
  if (recording != nullptr) return 0;  // CUDA's graphs cannot hold it: pages move when they are touched
  const CudaDeviceScope scope(device());
  const Region region(to_host ? "prefetch to the host" : "prefetch to the GPU");
  std::vector<PrefetchRange> known;
  std::size_t bytes = 0;
  {
    ManagedBlocks& blocks = ManagedBlocks::all();
    const std::lock_guard blocks_lock(blocks.mutex);
    for (const ManagedRange* range = ranges; range != ranges + count; ++range) {
      if (range->bytes == 0) continue;
      ManagedBlock* const block = blocks.find(range->begin);
      const bool is_reached = stays(*range, block);
      if (!is_reached) known.push_back(resolved(*range, block));
      else if (range->at_host) bytes += range->bytes;
      if (is_reached || is_advised_on(block)) advise(*range, *block, to_host, device());
    }
  }
  const std::vector<PrefetchPiece> pieces = plan_prefetch(known);
  const int place = to_host ? managed_on_host : device();
  const PrefetchPiece* const end = pieces.data() + pieces.size();
  const PrefetchPiece* const first_moved =
      std::find_if(pieces.data(), end, [](const PrefetchPiece& piece) { return !piece.discards; });
  // What cannot be discarded is moved.
  const PrefetchPiece* moved = first_moved;
  if (first_moved != pieces.data() && !enqueue_batch(pieces.data(), first_moved, true, place, *this))
    moved = pieces.data();
  // The host has to wait for all, before it writes; a kernel comes after it anyway, and nothing of what it is
  // to overwrite is moved.
  for (const PrefetchPiece* piece = to_host ? pieces.data() : moved; piece != end; ++piece)
    bytes += piece->end - piece->begin;
  if (end - moved < 2 || !enqueue_batch(moved, end, false, place, *this))
    for (; moved != end; ++moved)
      check_cuda(
          prefetch_pages(reinterpret_cast<void*>(moved->begin), moved->end - moved->begin, place, stream()),
          "prefetching managed memory", device());
  if (!pieces.empty()) submitted();
  return bytes;
}

}  // namespace strata::inline STRATA_ABI::detail
