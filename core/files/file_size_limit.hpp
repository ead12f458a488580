// The limit of file sizes (ulimit -f), as an error in place of the signal that ends the program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::files {

/// While it lives, writes, truncations and allocations of the calling thread beyond the limit fail with
/// EFBIG, whatever the program does at SIGXFSZ. Keeps errno. Must end on the thread on which it began.
class FileSizeErrors {
 public:
  FileSizeErrors() noexcept;
  ~FileSizeErrors();
  FileSizeErrors(const FileSizeErrors&) = delete;
  FileSizeErrors& operator=(const FileSizeErrors&) = delete;

 private:
  sigset_t before_;
  bool was_pending_;
};

/// The most bytes that a file may have; the greatest number where there is no limit.
index_t file_size_limit() noexcept;

/// The text of an errno; for EFBIG also which limit it is, its bytes, and how to raise it.
std::string file_error_text(int error);

}  // namespace strata::inline STRATA_ABI::detail::files
