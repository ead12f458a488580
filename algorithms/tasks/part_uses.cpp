// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/part_uses.hpp>

namespace strata::inline STRATA_ABI::detail {

bool covers(const ArrayPart& a, const ArrayPart& b) {
  bool all = true;
  b.visit([&](const Box& y) {
    bool found = false;
    a.visit([&](const Box& x) { found = found || x.contains(y); });
    all = all && found;
  });
  return all;
}

void PartUses::find(const ArrayPart& part, bool is_writing, std::vector<int>& uses) {
  std::vector<int> boxes;
  part.visit([&](const Box& box) { index(is_writing).find(box, boxes); });
  for (const int box : boxes) uses.push_back(owners_[is_writing][static_cast<std::size_t>(box)]);
}

std::vector<tasks::TaskId> PartUses::add(tasks::TaskId task, const TaskUse& use) {
  const bool is_writing = writes(use.mode);
  std::vector<int> found;
  find(use.part, true, found);
  if (is_writing) find(use.part, false, found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());

  std::vector<tasks::TaskId> before;
  for (const int number : found) {
    const Use& other = uses_[static_cast<std::size_t>(number)];
    before.push_back(other.task);
    // Whoever conflicts with it conflicts with this one, too.
    if (is_writing && covers(use.part, other.part)) erase(number);
  }
  std::sort(before.begin(), before.end());
  insert(task, use);
  return before;
}

void PartUses::insert(tasks::TaskId task, const TaskUse& use) {
  if (free_.empty()) {
    free_.push_back(static_cast<int>(uses_.size()));
    uses_.emplace_back();
  }
  const int number = free_.back();
  free_.pop_back();
  const bool is_writing = writes(use.mode);
  Use& added = uses_[static_cast<std::size_t>(number)];
  added = {task, use.part, is_writing, {}};
  use.part.visit([&](const Box& box) {
    std::vector<int>&owners = owners_[is_writing], &free = free_boxes_[is_writing];
    if (free.empty()) {
      free.push_back(static_cast<int>(owners.size()));
      owners.push_back(-1);
    }
    const int id = free.back();
    free.pop_back();
    owners[static_cast<std::size_t>(id)] = number;
    index(is_writing).insert(id, box);
    added.boxes.push_back(id);
  });
}

void PartUses::erase(int number) {
  Use& gone = uses_[static_cast<std::size_t>(number)];
  for (const int box : gone.boxes) {
    index(gone.is_writing).erase(box);
    free_boxes_[gone.is_writing].push_back(box);
  }
  gone = {};
  free_.push_back(number);
}

}  // namespace strata::inline STRATA_ABI::detail
