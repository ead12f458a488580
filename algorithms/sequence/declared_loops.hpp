// DeclaredLoops: the uses that the loops of a sequence declare, wherever they run, and their errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <strata/algorithms/coherent_access.hpp>
#include <strata/algorithms/sequence/loop_cursor.hpp>
#include <strata/algorithms/sequence/run_uses.hpp>
#include <strata/core/error.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

/// The steps of the larger graph, or plan: enough that the cost between two of them is small.
inline constexpr int steps_of_batch = 16;

class DeclaredLoops {
 public:
  struct Loop {
    std::string label;
    std::vector<SequenceUse> uses;   // arrays by their number here, in the order of the kernel's views
    std::vector<ResidentRows> rows;  // of each use
  };

  explicit DeclaredLoops(const char* label) : cursor_{label, 0, 0} {}
  DeclaredLoops(const DeclaredLoops&) = delete;
  DeclaredLoops& operator=(const DeclaredLoops&) = delete;

  /// Adds a use to a loop over the rows `work` that is being declared. ShapeMismatch, AccessConflict. A
  /// function of its own: compiled once for all loops with such an access.
  template <class Access>
  [[gnu::noinline]] void add_use(Loop& loop, const Access& access, ResidentRows work) {
    if (!access.array) fail_no_array();
    ArrayPart part;
    try {
      part = part_of(access.region, access.array.domain(), work, access.array.label());
    } catch (const ShapeMismatch& error) {
      fail_region(loop.label, error);
    }
    add_part(loop, access.array.state(), Access::mode, part);
  }
  void set_temporary(const Ref<CoherentState>& array);
  const LoopCursor& cursor() const { return cursor_; }
  void begin_with(int loop) { cursor_.begin_with(loop); }

 protected:
  /// The uses of loops that run one after the other, together. Error where they read a temporary array before
  /// they write it.
  std::vector<SequenceUse> uses_of(const std::vector<const Loop*>& loops) const;

  LoopCursor cursor_;
  bool has_run_ = false;
  std::vector<Ref<CoherentState>> arrays_;

 private:
  int number_of(const Ref<CoherentState>& array);
  void add_part(Loop& loop, const Ref<CoherentState>& array, AccessMode mode, const ArrayPart& part);
  [[noreturn]] void fail_region(const std::string& loop, const ShapeMismatch& error) const;

  std::vector<Ref<CoherentState>> temporary_;
};

}  // namespace strata::inline STRATA_ABI::detail::sequences
