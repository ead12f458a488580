// ExactStorage: the memory of an array under the paper's protocol: a block for each exact range.
#pragma once

#include <memory>
#include <vector>

#include <strata/views/coherent/instance.hpp>
#include <strata/views/coherent/plan/exact_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

struct ExactStorage {
  explicit ExactStorage(const Box& domain, const MemoryLinks& links) : copies(0, domain, links) {}

  /// The block of the copy `box` in `memory`; null where there is none.
  Instance* find(MemoryId memory, const Box& box) {
    for (Held& held : blocks)
      if (held.memory == memory && held.box == box) return &held.instance;
    return nullptr;
  }
  /// A valid copy in `memory` that has all of `box`, other than the copy `not_this`: where a planned copy
  /// comes from.
  Instance* source(MemoryId memory, const Box& box, const Box& not_this) {
    for (const ExactCopies::Copy& copy : copies.state().copies)
      if (copy.memory == memory && copy.valid && copy.box.contains(box) && !(copy.box == not_this))
        return find(memory, copy.box);
    return nullptr;
  }

  struct Held {
    MemoryId memory;
    Box box;
    Instance instance;
  };
  ExactCopies copies;
  std::vector<Held> blocks;
};

}  // namespace strata::inline STRATA_ABI::detail
