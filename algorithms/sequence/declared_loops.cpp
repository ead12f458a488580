// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/algorithms/sequence/declared_loops.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail::sequences {

namespace {

bool share(const std::vector<Box>& a, const std::vector<Box>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Box& box) { return !intersect(b, box).empty(); });
}

}  // namespace

int DeclaredLoops::number_of(const Ref<CoherentState>& array) {
  const auto known = std::find(arrays_.begin(), arrays_.end(), array);
  const int number = static_cast<int>(known - arrays_.begin());
  if (known == arrays_.end()) arrays_.push_back(array);
  return number;
}

void DeclaredLoops::add_part(Loop& loop, const Ref<CoherentState>& array, AccessMode mode,
                             const ArrayPart& part) {
  if (has_run_) cursor_.fail_late();
  SequenceUse use{number_of(array), mode, {}};
  ResidentRows rows{0, 0};
  part.visit([&](const Box& box) {
    use.region.push_back(box);
    rows = cover(rows, array->shape.rows_of(box));
  });
  for (const SequenceUse& other : loop.uses)
    if (other.array == use.array && (writes(mode) || writes(other.mode)) && share(other.region, use.region))
      throw AccessConflict("sequence \"" + cursor_.label + "\": \"" + array->label +
                           "\" is declared twice in loop \"" + loop.label +
                           "\", and written; declare it once");
  loop.uses.push_back(std::move(use));
  loop.rows.push_back(rows);
}

void DeclaredLoops::fail_region(const std::string& loop, const ShapeMismatch& error) const {
  throw ShapeMismatch("sequence \"" + cursor_.label + "\": loop \"" + loop + "\": " + error.what());
}

void DeclaredLoops::set_temporary(const Ref<CoherentState>& array) {
  if (has_run_) cursor_.fail_late();
  temporary_.push_back(array);
}

std::vector<SequenceUse> DeclaredLoops::uses_of(const std::vector<const Loop*>& loops) const {
  std::vector<const std::vector<SequenceUse>*> uses;
  for (const Loop* const loop : loops) uses.push_back(&loop->uses);
  std::vector<bool> temporary;
  for (const Ref<CoherentState>& array : arrays_)
    temporary.push_back(std::find(temporary_.begin(), temporary_.end(), array) != temporary_.end());
  if (const int a = temporary_read_first(uses, temporary); a >= 0)
    throw Error("sequence \"" + cursor_.label + "\": \"" + arrays_[static_cast<std::size_t>(a)]->label +
                "\" is temporary, but a run that begins with loop \"" + loops.front()->label +
                "\" reads it before it writes it; begin with the loop that writes it, or do not declare it "
                "temporary");
  return uses_of_run(uses, temporary);
}

}  // namespace strata::inline STRATA_ABI::detail::sequences
