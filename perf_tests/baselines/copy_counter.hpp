// CopyCounter: the bytes that libraries of others move between the host and GPUs, counted by CUPTI, for those
// that do not say it themselves.
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace perf {

class CopyCounter {
 public:
  struct Bytes {
    strata::index_t to_devices = 0, from_devices = 0;
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

 private:
  std::string reason_;
};

}  // namespace perf
