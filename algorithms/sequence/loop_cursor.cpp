// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <strata/algorithms/sequence/loop_cursor.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

void LoopCursor::begin_with(int loop) {
  if (loop < 0 || loop >= loops)
    throw Error("sequence \"" + label + "\": there is no loop " + std::to_string(loop) + ", it has " +
                std::to_string(loops));
  next = loop;
}
void LoopCursor::fail_late() const {
  throw Error("sequence \"" + label +
              "\": a loop or a temporary is declared after a run; declare all before it");
}
void LoopCursor::check_count(int count) const {
  if (count < 0)
    throw Error("sequence \"" + label + "\": " + std::to_string(count) + " loops, of its " +
                std::to_string(loops) + " a step, were asked for; give 0 or more");
  // Numbers of loops from the first of a step on.
  if (count > std::numeric_limits<int>::max() - loops)
    throw Error("sequence \"" + label + "\": " + std::to_string(count) +
                " loops are more than a run can have; call it again for the rest");
}
int LoopCursor::count_of(int steps) const {
  const index_t count = index_t{steps} * loops;
  if (steps < 0 || count > std::numeric_limits<int>::max() - loops)
    throw Error(
        "sequence \"" + label + "\": " + std::to_string(steps) + " steps of " + std::to_string(loops) +
        " loops were asked for; give 0 or more, and call it again for what is more than a run can have");
  return static_cast<int>(count);
}

}  // namespace strata::inline STRATA_ABI::detail::sequences
