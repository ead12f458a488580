// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/miniapps/common/standard_output.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

int kept = -1;  // the descriptor

[[noreturn]] void fail_output(const char* what) {
  throw Error(std::string("standard output cannot be ") + what + ": " + std::strerror(errno));
}

}  // namespace

bool shares_output_with_errors() {
  struct stat output {
  }, errors{};
  return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &errors) == 0 &&
         output.st_dev == errors.st_dev && output.st_ino == errors.st_ino;
}

void keep_standard_output() {
  if (kept >= 0) return;
  std::fflush(stdout);
  kept = dup(STDOUT_FILENO);
  if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) fail_output("kept for the report");
}

void write_kept_output(const std::string& text) {
  if (kept < 0) throw Error("standard output was not kept for the report");
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(kept, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail_output("written");
    done += static_cast<std::size_t>(count);
  }
}

void give_back_standard_output() {
  if (kept < 0) return;
  std::fflush(stdout);
  dup2(kept, STDOUT_FILENO);
  close(std::exchange(kept, -1));
}

}  // namespace strata::inline STRATA_ABI::miniapp
