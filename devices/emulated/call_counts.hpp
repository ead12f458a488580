// The counters of emulated::calls(). Private to this folder.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

struct CallCounts {
  std::atomic<std::uint64_t> kernels{0}, copies{0}, prefetches{0}, records{0}, queue_waits{0}, queries{0},
      host_waits{0}, allocations{0};
};
inline constinit CallCounts emulated_calls;

/// Threads do not order anything by it.
inline void count_call(std::atomic<std::uint64_t> CallCounts::*kind) {
  (emulated_calls.*kind).fetch_add(1, std::memory_order_relaxed);
}

/// The events of a queue that were asked for and that a GPU has not recorded. It records them before the
/// queue's next work but for short copies, all at once, or when another queue is to wait for one; and never
/// those that are complete by then, as the host has found out, nor those that no object refers to any more.
class AskedEvents {
 public:
  /// Before a copy, which comes before the record if it and those before it are short.
  void record_before_copy(std::size_t bytes) {
    constexpr std::size_t most_short_bytes = std::size_t{64} << 10;
    {
      const std::lock_guard lock(mutex_);
      if (events_.empty()) return;
      if (passed_bytes_ + bytes <= most_short_bytes) {
        passed_bytes_ += bytes;
        return;
      }
    }
    record();
  }
  void add(const void* event) {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) passed_bytes_ = 0;
    events_.push_back(event);
  }
  void record() {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) count_call(&CallCounts::records);
    events_.clear();
  }
  /// The event and those before it are complete.
  void complete(const void* event) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(events_.begin(), events_.end(), event);
    if (found != events_.end()) events_.erase(events_.begin(), found + 1);
  }
  void all_complete() {
    const std::lock_guard lock(mutex_);
    events_.clear();
  }
  void forget(const void* event) {
    const std::lock_guard lock(mutex_);
    std::erase(events_, event);
  }

 private:
  std::mutex mutex_;
  std::vector<const void*> events_;  // in their order
  std::size_t passed_bytes_ = 0;     // of copies that came before their record
};

}  // namespace strata::inline STRATA_ABI::detail
