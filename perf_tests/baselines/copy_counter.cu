#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <cuda_runtime.h>
#include <dlfcn.h>
#if __has_include(<cupti.h>)
#include <cupti.h>
#define STRATA_PERF_CUPTI 1
#endif

#include "baselines/copy_counter.hpp"

namespace perf {

#ifdef STRATA_PERF_CUPTI

namespace {

// How records of copies begin, in all versions of CUPTI.
struct CopyRecord {
  std::uint32_t kind;
  std::uint8_t copy_kind, from, to, flags;
  std::uint64_t bytes;
};

// Callbacks of CUPTI have no argument of ours.
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) set_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  std::atomic<strata::index_t> to_devices = 0, from_devices = 0;

  // Why it cannot be used; empty: it can.
  std::string load() {
    const std::string file = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
    void* library = nullptr;
    for (const char* folder : {"", "/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"})
      if (library == nullptr) library = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return file + " cannot be loaded";
    std::string reason;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) reason = file + " has no " + name;
    };
    find(set_callbacks, "cuptiActivityRegisterCallbacks");
    find(enable, "cuptiActivityEnable");
    find(disable, "cuptiActivityDisable");
    find(flush, "cuptiActivityFlushAll");
    find(next_record, "cuptiActivityGetNextRecord");
    return reason;
  }
};
Cupti cupti;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  constexpr std::size_t bytes = std::size_t{1} << 20, alignment = 8;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, bytes));
  *size = *buffer != nullptr ? bytes : 0;
  *max_records = 0;
}
void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_MEMCPY) continue;
    const CopyRecord& copy = *reinterpret_cast<const CopyRecord*>(record);
    const strata::index_t bytes = static_cast<strata::index_t>(copy.bytes);
    if (copy.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD) cupti.to_devices += bytes;
    if (copy.copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH) cupti.from_devices += bytes;
  }
  std::free(buffer);
}

std::string text_of(const char* tried, CUptiResult result) {
  return std::string(tried) + " failed: error " + std::to_string(static_cast<int>(result));
}

}  // namespace

CopyCounter::CopyCounter() : reason_(cupti.load()) {
  if (!reason_.empty()) return;
  if (const CUptiResult result = cupti.set_callbacks(give_buffer, take_buffer); result != CUPTI_SUCCESS)
    reason_ = text_of("cuptiActivityRegisterCallbacks", result);
}
CopyCounter::~CopyCounter() {
  if (cupti.disable != nullptr) cupti.disable(CUPTI_ACTIVITY_KIND_MEMCPY);
}

void CopyCounter::begin() {
  cupti.to_devices = cupti.from_devices = 0;
  if (const CUptiResult result = cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY); result != CUPTI_SUCCESS)
    reason_ = text_of("cuptiActivityEnable", result);
}
CopyCounter::Bytes CopyCounter::end() {
  if (const CUptiResult result = cupti.flush(0); result != CUPTI_SUCCESS)
    reason_ = text_of("cuptiActivityFlushAll", result);
  cupti.disable(CUPTI_ACTIVITY_KIND_MEMCPY);
  return {cupti.to_devices, cupti.from_devices};
}

#else

CopyCounter::CopyCounter() : reason_("this was built without CUPTI, whose cupti.h is missing") {}
CopyCounter::~CopyCounter() = default;
void CopyCounter::begin() {}
CopyCounter::Bytes CopyCounter::end() { return {}; }

#endif

}  // namespace perf
