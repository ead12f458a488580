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

/// Throws OutOfBounds if `record` holds a bad access; `label` and `kernel_type` name the kernel.
void throw_bad_access(const CheckRecord& record, const char* label, const char* kernel_type);

}  // namespace strata::inline STRATA_ABI::detail
