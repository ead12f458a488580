// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <pthread.h>
#include <sys/resource.h>

#include <strata/core/bytes.hpp>
#include <strata/core/files/file_size_limit.hpp>

namespace strata::inline STRATA_ABI::detail::files {

namespace {

sigset_t only_this() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() noexcept {
  sigset_t pending;
  return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

FileSizeErrors::FileSizeErrors() noexcept : was_pending_(is_pending()) {
  const sigset_t set = only_this();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

// The signal is sent to the thread that writes; it is taken before others may be delivered.
FileSizeErrors::~FileSizeErrors() {
  const int error = errno;
  const sigset_t set = only_this();
  constexpr timespec at_once{0, 0};
  if (!was_pending_ && is_pending()) sigtimedwait(&set, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

index_t file_size_limit() noexcept {
  constexpr index_t most = std::numeric_limits<index_t>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return most;
  return static_cast<index_t>(std::min(limit.rlim_cur, static_cast<rlim_t>(most)));
}

std::string file_error_text(int error) {
  std::string text = std::strerror(error);
  if (error == EFBIG && file_size_limit() < std::numeric_limits<index_t>::max())
    text += ": files may have " + std::to_string(file_size_limit()) + " bytes (" +
            string_from_bytes(file_size_limit()) + ") here; raise this limit (ulimit -f)";
  return text;
}

}  // namespace strata::inline STRATA_ABI::detail::files
