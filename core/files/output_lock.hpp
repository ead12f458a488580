// OutputLock: lets one program at a time write an output, from before it computes until it is done.
//
// It is FILE.lock beside the output, locked (flock), with the process and the host of its owner, so that the
// error of a second program names them. The lock ends with the process, however that ends; the file of a
// killed process locks nothing, and the next program with this output removes it. Where the file system has
// no locks, or nothing can be written, nothing is locked; in the latter case writing the output reports why.
//
// Not thread safe. Two locks of one output exclude each other within a process, too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::files {

class OutputLock {
 public:
  /// Locks nothing, as does an empty path.
  OutputLock() = default;
  /// FileError, with process and host and what to do, where another process has it; also where FILE.lock is
  /// something else.
  explicit OutputLock(const std::string& path);
  ~OutputLock();
  OutputLock(OutputLock&& other) noexcept;
  OutputLock& operator=(OutputLock&& other) noexcept;

  /// Whether it excludes others.
  bool is_held() const { return file_ >= 0; }

 private:
  bool create();
  bool remove_stale() const;

  int folder_ = -1, file_ = -1;
  std::string path_, name_;  // of the output; of the lock in its folder
};

}  // namespace strata::inline STRATA_ABI::detail::files
