// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <bit>
#include <cstdint>

#include <cuda_runtime_api.h>

#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/managed_blocks.hpp>
#include <strata/devices/cuda/memory/managed_calls.hpp>
#include <strata/devices/cuda/memory/managed_heap.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

cudaMemoryAdvise advice_of(AdviceCall::Kind kind) {
  switch (kind) {
    case AdviceCall::Kind::ReadMostly:
      return cudaMemAdviseSetReadMostly;
    case AdviceCall::Kind::NotReadMostly:
      return cudaMemAdviseUnsetReadMostly;
    case AdviceCall::Kind::ReachFromHere:
      return cudaMemAdviseSetAccessedBy;
    case AdviceCall::Kind::PreferHere:
      break;
  }
  return cudaMemAdviseSetPreferredLocation;
}

// What the program has advised on is not known, so everything is withdrawn.
void withdraw_all(char* begin, std::size_t bytes) {
  int gpus = 0;
  static_cast<void>(cudaGetDeviceCount(&gpus));
  advise_on_pages(begin, bytes, cudaMemAdviseUnsetReadMostly, managed_on_host);
  advise_on_pages(begin, bytes, cudaMemAdviseUnsetPreferredLocation, managed_on_host);
  for (int place = managed_on_host; place < gpus; ++place)
    advise_on_pages(begin, bytes, cudaMemAdviseUnsetAccessedBy, place);
  static_cast<void>(cudaGetLastError());
}

}  // namespace

ManagedBlocks& ManagedBlocks::all() {
  static ManagedBlocks& blocks = *new ManagedBlocks;
  return blocks;
}

void ManagedBlocks::add(void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  auto* const first = static_cast<char*>(begin);
  blocks_.emplace(first, ManagedBlock{first, bytes, PageAdvice(bytes)});
}

void ManagedBlocks::remove(void* begin, bool is_kept) noexcept {
  const std::lock_guard lock(mutex);
  const auto found = blocks_.find(static_cast<char*>(begin));
  if (found == blocks_.end()) return;
  ManagedBlock& block = found->second;
  const std::size_t taken = ManagedHeap::taken_by(block.bytes);
  if (is_kept && block.advised_by_program) withdraw_all(block.begin, taken);
  else if (const std::uint64_t reaching = is_kept ? block.advice.reaching() : 0; reaching != 0) {
    for (std::uint64_t gpus = reaching; gpus != 0; gpus &= gpus - 1)
      advise_on_pages(block.begin, taken, cudaMemAdviseUnsetAccessedBy, std::countr_zero(gpus));
    static_cast<void>(cudaGetLastError());
  }
  blocks_.erase(found);
}

ManagedBlock* ManagedBlocks::find(const void* address) {
  auto after = blocks_.upper_bound(static_cast<char*>(const_cast<void*>(address)));
  if (after == blocks_.begin()) return nullptr;
  ManagedBlock& block = std::prev(after)->second;
  return address < block.begin + block.bytes ? &block : nullptr;
}

void give_advice(const std::vector<AdviceCall>& calls, char* begin, int device) {
  static std::atomic<bool> is_refused = false;
  for (const AdviceCall& call : calls) {
    if (is_refused.load(std::memory_order_relaxed)) return;
    const cudaError_t code = advise_on_pages(begin + call.begin, call.bytes, advice_of(call.kind), call.gpu);
    if (code == cudaSuccess) continue;
    if (code != cudaErrorNotSupported && code != cudaErrorInvalidDevice)
      fail_cuda(code, "advice on pages of managed memory", device);
    static_cast<void>(cudaGetLastError());
    is_refused.store(true, std::memory_order_relaxed);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
