// Checks: what a checked build does when a kernel or the host uses an index outside its array.
//
// Nothing traps. In a kernel the first bad access is logged in the launch's CheckRecord and goes to a dummy
// element; the next wait throws it as OutOfBounds, with kernel, label, index and extents. On the host,
// outside kernels, the access throws at once.
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The bad access of one launch. Filled by the first thread that finds one.
struct CheckRecord {
  int state = 0;  // 0 none, 1 being written, 2 complete
  const void* data = nullptr;
  int count = 0;  // indices given
  int rank = 0;
  index_t index[max_rank] = {};
  index_t begin[max_rank] = {};
  index_t end[max_rank] = {};
  index_t resident_begin = 0;
  index_t resident_end = 0;
  std::uint64_t launch = 0;  // the number of the launch, where a device tells them apart
};

/// The record of the kernel that the calling thread runs; null outside kernels.
inline constinit thread_local CheckRecord* current_check = nullptr;

class CheckScope {
 public:
  explicit CheckScope(CheckRecord* record) : previous_(current_check) { current_check = record; }
  ~CheckScope() { current_check = previous_; }
  CheckScope(const CheckScope&) = delete;
  CheckScope& operator=(const CheckScope&) = delete;

 private:
  CheckRecord* previous_;
};

/// Logs the bad access `found` in the current record, or throws OutOfBounds where there is none.
void report_bad_access(const CheckRecord& found);

#if defined(__CUDACC__)
// The record of the launch that a thread block works for.
static __shared__ CheckRecord* block_check;
static __shared__ std::uint64_t block_launch;

/// Logs the bad access in the record of the thread block.
inline __device__ void report_bad_access_on_device(const CheckRecord& found) {
  CheckRecord* const record = block_check;
  if (atomicCAS_system(&record->state, 0, 1) != 0) return;
  const int state = record->state;
  *record = found;
  record->state = state;
  record->launch = block_launch;
  __threadfence_system();
  *static_cast<volatile int*>(&record->state) = 2;
}
#endif

/// Throws OutOfBounds if `record` holds a bad access; `label` and `kernel_type` name the kernel.
void throw_bad_access(const CheckRecord& record, const char* label, const char* kernel_type);

}  // namespace strata::inline STRATA_ABI::detail
