// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <strata/devices/host/other_programs.hpp>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

using namespace std::chrono_literals;

constexpr auto between_looks = 10ms;
// What was seen before a pause of the program says nothing of now.
constexpr auto stale = 200ms;

}  // namespace

int running_threads(const char* loadavg) {
  const char* const slash = std::strchr(loadavg, '/');
  if (slash == nullptr) return -1;
  const char* begin = slash;
  while (begin != loadavg && begin[-1] >= '0' && begin[-1] <= '9') --begin;
  return begin == slash ? -1 : std::atoi(begin);
}

OtherPrograms::OtherPrograms() {
#if defined(__linux__)
  processors_ = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (processors_ > 0) file_ = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
#endif
}

OtherPrograms::~OtherPrograms() {
#if defined(__linux__)
  if (file_ >= 0) close(file_);
#endif
}

int OtherPrograms::room_for(int team, int own) {
  if (file_ < 0) return team;
#if defined(__linux__)
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ >= between_looks) {
    if (now - last_ >= stale) others_.fill(0);
    last_ = now;
    char text[100] = {};
    const bool has_text = pread(file_, text, sizeof text - 1, 0) > 0;
    const int running = has_text ? running_threads(text) : -1;
    others_[at_] = std::max(running - own, 0);
    at_ = (at_ + 1) % looks;
  }
#endif
  const int others = *std::min_element(others_.begin(), others_.end());
  return others == 0 ? team : std::clamp(processors_ - others, 1, team);
}

}  // namespace strata::inline STRATA_ABI::detail
