// LoopCursor: which loop of a sequence is next.
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

struct LoopCursor {
  std::string label;  // the sequence's
  int loops = 0;      // so many there are
  int next = 0;

  /// Throws Error where there is no such loop.
  void begin_with(int loop);
  /// Throws Error: a loop or a temporary is declared when it is too late.
  [[noreturn]] void fail_late() const;
  /// Throws Error where `count` is negative, or more than one run can have.
  void check_count(int count) const;
  /// The loops of so many steps. Throws Error where there are more than one run can have, or `steps` is
  /// negative.
  int count_of(int steps) const;
};

}  // namespace strata::inline STRATA_ABI::detail
