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
  /// Throws Error: a loop is declared when it is too late.
  [[noreturn]] void fail_late() const;
  /// Throws Error where `count` is negative.
  void check_count(int count) const;
};

}  // namespace strata::inline STRATA_ABI::detail
