// Contributions of tasks to an array, in private copies that join it: what reduce() becomes.
//
//   task, task, ...  each commutes on one of a few copies, in turn
//   join             one task for each copy, where the array is used otherwise
//
// The copies are arrays as others, which the scheduler sends to where their tasks run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/tasks/task_access.hpp>
#include <strata/core/ref.hpp>
#include <strata/views/coherent/task_function.hpp>

namespace strata::inline STRATA_ABI {

namespace detail {

class TaskAdder;

/// Copies of an array to which tasks contribute, and which have not joined it yet.
class PendingContributions : public RefCounted {
 public:
  /// Adds the tasks that join the copies with the array.
  virtual void join(TaskAdder& adder) = 0;
};

/// Throws AccessConflict: the task contributes to the array, and uses it otherwise.
[[noreturn]] void fail_contribution(const std::string& task, const CoherentState& array);

/// Copies of one array: more would take more memory than they save time.
inline constexpr std::size_t most_contribution_copies = 4;

// Calls f(index...) for the elements of row i of a view.
template <int Depth, class V, class F, class... I>
STRATA_FUNCTION void for_elements_of(const V& view, const F& f, I... index) {
  if constexpr (Depth == V::extents_type::max_rank_value) {
    f(index...);
  } else {
    for (index_t k = 0; k < view.extent(Depth); ++k) for_elements_of<Depth + 1>(view, f, index..., k);
  }
}

template <class Join>
struct ClearContributions {
  STRATA_FUNCTION void operator()(auto i, auto copy) const {
    using V = decltype(copy);
    using T = std::remove_const_t<typename V::element_type>;
    if constexpr (V::extents_type::max_rank_value == 0) copy() = Join::template identity<T>();
    else
      for_elements_of<1>(
          copy, [&](auto... index) { copy(index...) = Join::template identity<T>(); },
          static_cast<index_t>(i));
  }
};
template <class Join>
struct JoinContributions {
  Join join;
  STRATA_FUNCTION void operator()(auto i, auto copy, auto array) const {
    using V = decltype(array);
    if constexpr (V::extents_type::max_rank_value == 0) array() = join(array(), copy());
    else
      for_elements_of<1>(
          array, [&](auto... index) { array(index...) = join(array(index...), copy(index...)); },
          static_cast<index_t>(i));
  }
};

template <class Devices, class Array, class Join>
class ContributionCopies final : public PendingContributions {
 public:
  ContributionCopies(const Array& array, const Join& join) : array_(array), join_(join) {}

  /// The copy for the next task; new ones are cleared by a task.
  Array next(TaskAdder& adder);
  void join(TaskAdder& adder) override;

 private:
  index_t rows() const { return Array::rank == 0 ? 1 : array_.extent(0); }
  template <std::size_t... R>
  Array new_copy(const std::string& label, std::index_sequence<R...>) const {
    const OutsideTaskFunction scope;  // tasks may add tasks that contribute
    return Array(label.c_str(), array_.extent(static_cast<int>(R))..., uninitialized, MemoryMode::Smart);
  }

  Array array_;
  Join join_;
  std::vector<Array> copies_;
  std::size_t num_open_ = 0;  // of these: with contributions that have not joined
  std::size_t next_ = 0;
};

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
