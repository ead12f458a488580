// LoopCursor: which loop of a sequence is next.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

struct LoopCursor {
  std::string label;  // the sequence's
  int loops = 0;      // the number of loops
  int next = 0;

  /// Throws Error where there is no such loop.
  void begin_with(int loop);
  /// Throws Error: a loop or a temporary was declared after the first run.
  [[noreturn]] void fail_late() const;
  /// Throws Error where `count` is negative, or more than one run can have.
  void check_count(int count) const;
  /// The number of loops in `steps` steps. Throws Error where one run cannot have so many, or `steps` is
  /// negative.
  int count_of(int steps) const;
};

}  // namespace strata::inline STRATA_ABI::detail::sequences
