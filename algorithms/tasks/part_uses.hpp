// PartUses: which tasks that use parts of one array have to wait for each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/tasks/plan/task_dag.hpp>
#include <strata/algorithms/tasks/task_body.hpp>
#include <strata/views/coherent/plan/box_index.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Whether each box of `b` lies in one of `a`.
bool covers(const ArrayPart& a, const ArrayPart& b);

/// The uses of an array so far, as far as later ones can conflict with them: finding those of a part takes
/// about the logarithm of their number.
class PartUses {
 public:
  /// What `task` has to wait for, in ascending order.
  std::vector<tasks::TaskId> add(tasks::TaskId task, const TaskUse& use);
  /// Uses that later ones can conflict with.
  std::size_t size() const { return uses_.size() - free_.size(); }

 private:
  struct Use {
    tasks::TaskId task = tasks::none;
    ArrayPart part;
    bool is_writing = false;
    std::vector<int> boxes;  // of the part, in the index
  };
  BoxIndex& index(bool is_writing) { return is_writing ? writes_ : reads_; }
  void find(const ArrayPart& part, bool is_writing, std::vector<int>& uses);
  void insert(tasks::TaskId task, const TaskUse& use);
  void erase(int number);

  std::vector<Use> uses_;
  std::vector<int> free_;  // of these
  BoxIndex reads_, writes_;
  std::vector<int> owners_[2], free_boxes_[2];  // of boxes of the one and the other: their uses; unused ones
};

}  // namespace strata::inline STRATA_ABI::detail
