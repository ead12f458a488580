// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include <unistd.h>

#include <strata/miniapps/common/progress.hpp>
#include <strata/miniapps/common/report.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

constexpr double terminal_interval = 0.1, lines_interval = 5;  // seconds

std::string time_text(double seconds) {
  const auto all = static_cast<long>(std::lround(seconds));
  char text[32];
  if (all >= 3600) std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", all / 3600, all / 60 % 60, all % 60);
  else std::snprintf(text, sizeof text, "%ld:%02ld", all / 60, all % 60);
  return text;
}

}  // namespace

ProgressStyle progress_style(bool quiet) {
  if (quiet) return ProgressStyle::Quiet;
  return isatty(STDOUT_FILENO) == 1 ? ProgressStyle::Terminal : ProgressStyle::Lines;
}

Progress::Progress(ProgressStyle style, std::string what, index_t total, index_t first)
    : style_(style),
      what_(std::move(what)),
      total_(total),
      first_(first),
      start_(now_seconds()),
      last_shown_(start_) {}

bool Progress::due(index_t) const {
  if (style_ == ProgressStyle::Quiet) return false;
  return now_seconds() - last_shown_ >=
         (style_ == ProgressStyle::Terminal ? terminal_interval : lines_interval);
}

void Progress::show(index_t step, const std::string& text) {
  if (style_ == ProgressStyle::Quiet) return;
  last_shown_ = now_seconds();
  const double rate = static_cast<double>(step - first_) / (last_shown_ - start_);
  std::string line = what_ + " " + std::to_string(step);
  if (total_ > 0) line += "/" + std::to_string(total_);
  if (!text.empty()) line += ", " + text;
  if (step > first_) line += ", " + number_text(rate, 3) + "/s";
  if (step > first_ && total_ > 0)
    line += ", " + time_text(static_cast<double>(total_ - step) / rate) + " left";
  if (style_ == ProgressStyle::Terminal) {
    const std::size_t length = line.size();
    if (length < width_) line += std::string(width_ - length, ' ');
    width_ = length;
    std::printf("\r%s", line.c_str());
  } else {
    std::printf("%s\n", line.c_str());
  }
  std::fflush(stdout);
}

void Progress::finish() {
  if (style_ == ProgressStyle::Terminal && width_ > 0) std::printf("\n");
  width_ = 0;
}

}  // namespace strata::inline STRATA_ABI::miniapp
