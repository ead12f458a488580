// SharedLosses: what failures have lost of the arrays of a shared launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/box.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

struct SharedWork;

/// Looks at the arrays when asked. May be used by several threads at once.
class SharedLosses {
 public:
  /// Before the launch: what nobody has written is no loss. `work` outlives this.
  explicit SharedLosses(const SharedWork& work);

  /// "[0, 8) of \"x\"", of all that parts read and that is lost; empty: nothing.
  std::string of_what_is_read() const;
  /// The same of all that the launch uses.
  std::string of_all() const;
  /// When all is done: of what the launch writes.
  std::string of_what_was_written() const;
  /// The calling thread knows of the failures so far.
  void set_reported() const;

 private:
  const SharedWork& work_;
  std::vector<std::vector<Box>> before_;  // of each use: what nobody had written
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
