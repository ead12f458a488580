// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>
#include <string>

#include <cuda_runtime_api.h>

#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/cuda/failure.hpp>
#include <strata/devices/cuda/memory/managed.hpp>
#include <strata/devices/cuda/memory/managed_blocks.hpp>
#include <strata/devices/cuda/memory/managed_calls.hpp>
#include <strata/devices/cuda/queue.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Not to bytes that the array describes and does not hold: the rows of a slice that are elsewhere.
ManagedBytes within_allocation(const ManagedBytes& bytes) {
  if (bytes.record == nullptr || bytes.count == 0) return bytes;
  char* const first = static_cast<char*>(bytes.record->data);
  char* const begin = std::max(bytes.begin, first);
  char* const end = std::min(bytes.begin + bytes.count, first + bytes.record->bytes);
  return {begin, begin < end ? static_cast<std::size_t>(end - begin) : 0, bytes.record};
}

bool takes_hints(int device) {
  int concurrent = 0;
  check_cuda(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device),
             "asking for concurrent managed access", device);
  return concurrent != 0;
}

void check_hint(cudaError_t code, const char* what, const ManagedBytes& bytes, int device) {
  if (code == cudaSuccess) return;
  const std::string array = bytes.record != nullptr
                                ? "\"" + std::string(bytes.record->label) + "\""
                                : "a view of memory that Strata did not allocate (is it managed memory?)";
  fail_cuda(code, what + array, device);
}

cudaMemoryAdvise advice_of(cuda::Advice advice) {
  switch (advice) {
    case cuda::Advice::ReadMostly:
      return cudaMemAdviseSetReadMostly;
    case cuda::Advice::NotReadMostly:
      return cudaMemAdviseUnsetReadMostly;
    case cuda::Advice::PreferredLocation:
      return cudaMemAdviseSetPreferredLocation;
    case cuda::Advice::NoPreferredLocation:
      return cudaMemAdviseUnsetPreferredLocation;
    case cuda::Advice::AccessedBy:
      return cudaMemAdviseSetAccessedBy;
    case cuda::Advice::NotAccessedBy:
      break;
  }
  return cudaMemAdviseUnsetAccessedBy;
}

}  // namespace

int managed_gpu(const ManagedBytes& bytes) {
  return bytes.record != nullptr ? bytes.record->space.instance : 0;
}

bool prefetch_managed(const ManagedBytes& all, int place, QueueState* asked) {
  require_running("cuda::prefetch");
  auto& queue = asked != nullptr
                    ? static_cast<CudaQueue&>(*asked)
                    : CudaInstance::get(place != managed_on_host ? place : managed_gpu(all)).queue();
  if (!takes_hints(queue.device()) || (place != managed_on_host && !takes_hints(place))) return false;
  const ManagedBytes bytes = within_allocation(all);
  if (bytes.count == 0) return true;
  const std::lock_guard lock(queue.mutex);
  if (queue.recording != nullptr)
    throw Error("cuda::prefetch: CUDA's graphs cannot hold it; call it before or after the recording");
  const CudaDeviceScope scope(queue.device());
  check_hint(prefetch_pages(bytes.begin, bytes.count, place, queue.stream()), "prefetching ", bytes,
             queue.device());
  queue.submitted();
  return true;
}

bool advise_managed(const ManagedBytes& all, cuda::Advice advice, int place) {
  require_running("cuda::advise");
  const int device = place != managed_on_host ? place : managed_gpu(all);
  if (!takes_hints(device)) return false;
  const ManagedBytes bytes = within_allocation(all);
  if (bytes.count == 0) return true;
  check_hint(advise_on_pages(bytes.begin, bytes.count, advice_of(advice), place), "advice on ", bytes,
             device);
  ManagedBlocks& blocks = ManagedBlocks::all();
  const std::lock_guard lock(blocks.mutex);
  if (ManagedBlock* const block = blocks.find(bytes.begin)) block->advised_by_program = true;
  return true;
}

}  // namespace strata::inline STRATA_ABI::detail
