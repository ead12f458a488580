// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/algorithms/sharing/shared_losses.hpp>
#include <strata/algorithms/sharing/shared_run.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

namespace {

void append(std::string& text, const std::vector<Box>& boxes, const CoherentState& array) {
  for (const Box& box : boxes)
    text += (text.empty() ? "" : ", ") + to_string(box) + " of \"" + label_of(array) + "\"";
}

// Of the part, what no memory has.
std::vector<Box> lacking(const SharedWork::Use& use) {
  std::vector<Box> boxes;
  const std::vector<Box> all = WholeCopies::lacking(*use.array);
  use.part.visit([&](const Box& box) {
    for (const Box& lost : intersect(all, box)) boxes.push_back(lost);
  });
  return boxes;
}

}  // namespace

SharedLosses::SharedLosses(const SharedWork& work) : work_(work) {
  for (const SharedWork::Use& use : work.uses) before_.push_back(lacking(use));
}

std::string SharedLosses::of_what_is_read() const {
  std::string text;
  for (std::size_t k = 0; k < before_.size(); ++k) {
    const SharedWork::Use& use = work_.uses[k];
    if (reads(use.mode)) append(text, remainder(lacking(use), before_[k]), *use.array);
  }
  return text;
}

std::string SharedLosses::of_all() const {
  std::string text;
  for (std::size_t k = 0; k < before_.size(); ++k)
    append(text, remainder(lacking(work_.uses[k]), before_[k]), *work_.uses[k].array);
  return text;
}

std::string SharedLosses::of_what_was_written() const {
  std::string text;
  for (const SharedWork::Use& use : work_.uses)
    if (writes(use.mode)) append(text, lacking(use), *use.array);
  return text;
}

void SharedLosses::set_reported() const {
  for (const SharedWork::Use& use : work_.uses) WholeCopies::set_reported(*use.array);
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
