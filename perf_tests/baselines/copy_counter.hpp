// CopyCounter: the bytes that move between the host and GPUs as CUPTI counts them: for libraries that do not
// say it themselves, and beside the counts of those that do.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace perf {

class CopyCounter {
 public:
  struct Bytes {
    strata::index_t to_devices = 0, from_devices = 0;
  };
  /// Of managed memory. A fault is one of a page or more at once.
  struct Pages {
    Bytes asked;    // moved as the program asked for it: prefetches
    Bytes faulted;  // moved otherwise
    strata::index_t gpu_faults = 0, host_faults = 0;
  };

  /// Loads CUPTI. One at a time.
  CopyCounter();
  ~CopyCounter();
  CopyCounter(const CopyCounter&) = delete;
  CopyCounter& operator=(const CopyCounter&) = delete;

  /// Whether it can count; if not, why.
  bool is_there() const { return reason_.empty(); }
  const std::string& reason() const { return reason_; }
  /// Counts from here on. Copies are slower meanwhile.
  void begin();
  /// What was copied since; the devices must have been waited for.
  Bytes end();

  /// Counts pages of managed memory, too, from the next begin() on. False, with a reason, where CUPTI cannot.
  bool count_pages();
  /// After end(): those.
  Pages pages() const;

 private:
  void settle();

  bool counts_pages_ = false;
  std::string reason_;
};

}  // namespace perf
