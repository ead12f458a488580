// A line with the progress of a streamed launch, where stderr is a terminal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include <unistd.h>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamProgress {
 public:
  StreamProgress(const std::string& label, long tiles, bool wanted)
      : label_(label), tiles_(tiles), shown_(wanted && isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {}
  ~StreamProgress() {
    if (printed_) std::fputc('\n', stderr);
  }
  StreamProgress(const StreamProgress&) = delete;
  StreamProgress& operator=(const StreamProgress&) = delete;

  void at(long tile) {
    if (!shown_) return;
    const auto now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    if (seconds < 1 || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    printed_ = true;
    const double left = seconds / static_cast<double>(tile + 1) * static_cast<double>(tiles_ - tile - 1);
    std::fprintf(stderr, "\r%s: slice %ld of %ld, %.3g slices/s, %.0f s left   ", label_.c_str(), tile + 1,
                 tiles_, static_cast<double>(tile + 1) / seconds, left);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::string label_;
  const long tiles_;
  const bool shown_;
  bool printed_ = false;
  const Clock::time_point begin_;
  Clock::time_point last_{};
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
