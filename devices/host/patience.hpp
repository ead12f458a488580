// Patience: bounds by time how long a thread looks at a word before it sleeps.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <thread>

#include <strata/core/config.hpp>
#include <strata/devices/host/pause.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Bounds one wait by time. Between looks at the clock it only pauses. Once the wait is no longer short, or
/// from the start if there are fewer processors than workers (`crowded`), it offers the processor to others
/// at every look. Where one look follows the other much later than it should, the processor was taken away:
/// others want it, and looking on would spend the share of it that the next job needs.
class Patience {
 public:
  Patience(int spin_us, bool crowded) : limit_(spin_us), crowded_(crowded) {}

  /// Waits a moment. False: the time is up, sleep.
  bool wait() {
    pause_processor();
    if (++looks_ % looks_per_clock != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (looks_ == looks_per_clock) start_ = last_ = now;
    if (now - start_ >= limit_ || now - last_ > lost_processor) return false;
    last_ = now;
    if (crowded_ || now - start_ > short_wait) std::this_thread::yield();
    return true;
  }

 private:
  static constexpr unsigned looks_per_clock = 32;  // about 1 microsecond
  static constexpr std::chrono::microseconds short_wait{20};
  static constexpr std::chrono::microseconds lost_processor{50};

  std::chrono::steady_clock::time_point start_{}, last_{};
  std::chrono::microseconds limit_;
  unsigned looks_ = 0;
  bool crowded_;
};

}  // namespace strata::inline STRATA_ABI::detail
