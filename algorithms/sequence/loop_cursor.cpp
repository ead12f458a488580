#include <strata/algorithms/sequence/loop_cursor.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

void LoopCursor::begin_with(int loop) {
  if (loop < 0 || loop >= loops)
    throw Error("sequence \"" + label + "\": there is no loop " + std::to_string(loop) + ", it has " +
                std::to_string(loops));
  next = loop;
}
void LoopCursor::fail_late() const {
  throw Error("sequence \"" + label + "\": a loop is declared after a run; declare all before it");
}
void LoopCursor::check_count(int count) const {
  if (count < 0)
    throw Error("sequence \"" + label + "\": " + std::to_string(count) + " loops, of its " +
                std::to_string(loops) + " a step, were asked for; give 0 or more");
}

}  // namespace strata::inline STRATA_ABI::detail
