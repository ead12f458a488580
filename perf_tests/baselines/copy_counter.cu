// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>
#include <type_traits>

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

// The same of counts of managed memory.
struct PageRecord {
  std::uint32_t kind, counter;
  std::uint64_t value, begin, end, address;
  std::uint32_t from, to, stream, process, flags;
};

// Callbacks of CUPTI have no argument of ours.
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) set_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityConfigureUnifiedMemoryCounter) configure_pages = nullptr;
  std::atomic<strata::index_t> to_devices = 0, from_devices = 0;
  std::atomic<strata::index_t> asked_to_devices = 0, asked_to_host = 0, faulted_to_devices = 0,
                               faulted_to_host = 0, gpu_faults = 0, host_faults = 0;

  strata::index_t sum_of_pages() const {
    return asked_to_devices + asked_to_host + faulted_to_devices + faulted_to_host + gpu_faults + host_faults;
  }
  void forget() {
    for (std::atomic<strata::index_t>* count :
         {&to_devices, &from_devices, &asked_to_devices, &asked_to_host, &faulted_to_devices,
          &faulted_to_host, &gpu_faults, &host_faults})
      *count = 0;
  }

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
    find(configure_pages, "cuptiActivityConfigureUnifiedMemoryCounter");
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
void count_pages_of(const PageRecord& record) {
  const auto bytes = static_cast<strata::index_t>(record.value);
  const bool is_asked = record.flags == CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER;
  switch (record.counter) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      (is_asked ? cupti.asked_to_devices : cupti.faulted_to_devices) += bytes;
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      (is_asked ? cupti.asked_to_host : cupti.faulted_to_host) += bytes;
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
      cupti.gpu_faults += bytes;  // groups of faults of a page
      break;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
      ++cupti.host_faults;  // the value is where the program was
      break;
    default:
      break;
  }
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER)
      count_pages_of(*reinterpret_cast<const PageRecord*>(record));
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
  if (cupti.disable == nullptr) return;
  cupti.disable(CUPTI_ACTIVITY_KIND_MEMCPY);
  if (counts_pages_) cupti.disable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
}

bool CopyCounter::count_pages() {
  CUpti_ActivityUnifiedMemoryCounterConfig counters[] = {
      {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
       CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD, 0, 1},
      {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
       CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH, 0, 1},
      {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
       CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT, 0, 1},
      {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
       CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT, 0, 1}};
  CUptiResult result = cupti.configure_pages(counters, static_cast<std::uint32_t>(std::size(counters)));
  if (result == CUPTI_SUCCESS) result = cupti.enable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  counts_pages_ = result == CUPTI_SUCCESS;
  if (!counts_pages_) reason_ = text_of("counting pages of managed memory", result);
  return counts_pages_;
}
CopyCounter::Pages CopyCounter::pages() const {
  return {{cupti.asked_to_devices, cupti.asked_to_host},
          {cupti.faulted_to_devices, cupti.faulted_to_host},
          cupti.gpu_faults,
          cupti.host_faults};
}

// The driver hands over what it counts of managed memory some time after it has happened.
void CopyCounter::settle() {
  constexpr int most = 10;
  strata::index_t last = -1;
  for (int k = 0; k < most; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (const CUptiResult result = cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); result != CUPTI_SUCCESS)
      reason_ = text_of("cuptiActivityFlushAll", result);
    const strata::index_t sum = cupti.sum_of_pages();
    if (sum == last) return;
    last = sum;
  }
}

void CopyCounter::begin() {
  if (counts_pages_) settle();  // what came before
  cupti.forget();
  if (const CUptiResult result = cupti.enable(CUPTI_ACTIVITY_KIND_MEMCPY); result != CUPTI_SUCCESS)
    reason_ = text_of("cuptiActivityEnable", result);
}
CopyCounter::Bytes CopyCounter::end() {
  if (counts_pages_) settle();
  else if (const CUptiResult result = cupti.flush(0); result != CUPTI_SUCCESS)
    reason_ = text_of("cuptiActivityFlushAll", result);
  cupti.disable(CUPTI_ACTIVITY_KIND_MEMCPY);
  return {cupti.to_devices, cupti.from_devices};
}

#else

CopyCounter::CopyCounter() : reason_("this was built without CUPTI, whose cupti.h is missing") {}
CopyCounter::~CopyCounter() = default;
void CopyCounter::begin() {}
CopyCounter::Bytes CopyCounter::end() { return {}; }
bool CopyCounter::count_pages() { return false; }
CopyCounter::Pages CopyCounter::pages() const { return {}; }

#endif

}  // namespace perf
