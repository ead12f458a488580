// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/views/coherent/plan/exact_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using Copy = ExactCopies::Copy;

bool no_copy_modified(const ExactCopies::State& state) {
  return std::none_of(state.copies.begin(), state.copies.end(), [](const Copy& c) { return c.modified; });
}

// The copy for which `wanted` is true with the most elements of `box`; or null.
template <class Wanted>
Copy* largest_overlap(std::vector<Copy>& copies, const Box& box, const Wanted& wanted) {
  Copy* best = nullptr;
  index_t most = 0;
  for (Copy& copy : copies) {
    if (!wanted(copy)) continue;
    const index_t common = intersect(copy.box, box).size();
    if (common > most) {
      most = common;
      best = &copy;
    }
  }
  return best;
}

}  // namespace

ExactCopies::ExactCopies(int array, const Box& domain, const MemoryLinks& links)
    : array_(array), domain_(domain), links_(&links) {}

ExactCopies::Plan ExactCopies::device(MemoryId memory, const Box& box, AccessMode use) const {
  Plan plan;
  plan.after = state_;
  if (box.empty()) return plan;
  std::vector<Copy>& copies = plan.after.copies;
  std::size_t own = 0;
  while (own < copies.size() && !(copies[own].memory == memory && copies[own].box == box)) ++own;
  if (own == copies.size()) {
    copies.push_back({memory, box});
    plan.allocates = true;
  }
  if (use != AccessMode::Out && !copies[own].valid) fill(plan, own);
  if (use != AccessMode::In) {
    claim(plan, own);
    copies[own].valid = copies[own].modified = true;
  }
  return plan;
}

ExactCopies::Plan ExactCopies::host(const Box& box, AccessMode use) const {
  Plan plan;
  plan.after = state_;
  if (box.empty()) return plan;
  State& state = plan.after;
  if (!state.main_valid) {
    for (Copy& copy : state.copies) {
      if (!copy.modified || !overlap(copy.box, box)) continue;
      if (use == AccessMode::Out && box.contains(copy.box)) continue;
      add(plan, copy.box, copy.memory, host_memory);
      copy.modified = false;
    }
  }
  if (use != AccessMode::In)
    for (Copy& copy : state.copies)
      if (overlap(copy.box, box)) copy.valid = copy.modified = false;
  state.main_valid = no_copy_modified(state);
  return plan;
}

// Algorithm 1.
void ExactCopies::fill(Plan& plan, std::size_t own) const {
  State& state = plan.after;
  const MemoryId to = state.copies[own].memory;
  std::vector<Box> todo{state.copies[own].box};
  while (!todo.empty()) {
    const Box part = todo.back();
    todo.pop_back();
    const auto rest_after = [&](const Copy& source) {
      for (const Box& rest : remainder(part, source.box)) todo.push_back(rest);
    };
    if (const Copy* near =
            largest_overlap(state.copies, part, [&](const Copy& c) { return c.valid && c.memory == to; })) {
      add(plan, intersect(part, near->box), to, to);
      rest_after(*near);
    } else if (state.main_valid) {
      add(plan, part, host_memory, to);
    } else if (const Copy* peer = largest_overlap(state.copies, part, [&](const Copy& c) {
                 return c.valid && c.memory != to && links_->joins(c.memory, to);
               })) {
      add(plan, intersect(part, peer->box), peer->memory, to);
      rest_after(*peer);
    } else if (Copy* other = largest_overlap(state.copies, part, [&](const Copy& c) { return c.modified; })) {
      add(plan, other->box, other->memory, host_memory);
      add(plan, intersect(part, other->box), host_memory, to);
      other->modified = false;
      state.main_valid = no_copy_modified(state);
      rest_after(*other);
    } else {
      add(plan, part, host_memory, to);
    }
  }
  state.copies[own].valid = true;
}

// Algorithm 2.
void ExactCopies::claim(Plan& plan, std::size_t own) const {
  State& state = plan.after;
  const Box box = state.copies[own].box;
  state.main_valid = false;
  for (std::size_t k = 0; k < state.copies.size(); ++k) {
    Copy& copy = state.copies[k];
    if (k == own || !copy.valid || !overlap(copy.box, box)) continue;
    if (copy.modified)
      for (const Box& rest : remainder(copy.box, box)) add(plan, rest, copy.memory, host_memory);
    copy.valid = copy.modified = false;
  }
}

void ExactCopies::add(Plan& plan, const Box& box, MemoryId from, MemoryId to) const {
  PlannedCopy copy{array_, box, from, to, {}};
  if (!plan.copies.empty()) copy.after.push_back(static_cast<int>(plan.copies.size()) - 1);
  plan.copies.push_back(std::move(copy));
}

}  // namespace strata::inline STRATA_ABI::detail
