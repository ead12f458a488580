// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/stream_gate.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

bool StreamGate::arrive() {
  std::unique_lock lock(mutex_);
  const long pass = passed_;
  if (++here_ == runs_) {
    here_ = 0;
    ++passed_;
    changed_.notify_all();
  } else {
    changed_.wait(lock, [&] { return passed_ != pass || error_ != nullptr; });
  }
  return error_ == nullptr;
}

void StreamGate::fail(int run) {
  const std::lock_guard lock(mutex_);
  if (error_ == nullptr) {
    error_ = std::current_exception();
    failed_run_ = run;
  }
  changed_.notify_all();
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
