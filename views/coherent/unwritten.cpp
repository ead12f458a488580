// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/unwritten.hpp>
#include <strata/views/copy.hpp>

namespace strata::inline STRATA_ABI::detail {

UnwrittenBox unwritten_box(const CoherentState& array, const Box& box, char* base) {
  UnwrittenBox made{&array, base, array.shape.layout_of(box), {}, static_cast<int>(array.shape.element_bytes),
                    {}};
  for (int r = 0; r < box.rank(); ++r) made.lower[r] = box.lower(r);
  const std::size_t length = std::min<std::size_t>(array.label.size(), UnwrittenBox::longest_label - 1);
  std::copy_n(array.label.begin(), length, made.label);
  return made;
}

void mark_unwritten(const UnwrittenBox& box, DeviceInstance& device, SpaceId space, QueueState& queue) {
  std::vector<unsigned char> element(static_cast<std::size_t>(box.element_bytes));
  for (int k = 0; k < box.element_bytes; ++k) element[static_cast<std::size_t>(k)] = unwritten_byte(k);
  fill_array({box.base, space, &box.layout, box.label, &device}, element.data(), element.size(), &queue);
}

namespace {

thread_local const NotesInForce* notes_in_force = nullptr;

}  // namespace

NotesInForce::NotesInForce(const std::vector<NoteOfArray>& notes) : notes_(notes), before_(notes_in_force) {
  notes_in_force = this;
}
NotesInForce::~NotesInForce() { notes_in_force = before_; }

ElementNote note_in_force(const CoherentState& array) {
  for (const NotesInForce* in_force = notes_in_force; in_force != nullptr; in_force = in_force->before_)
    for (const NoteOfArray& of : in_force->notes_)
      if (of.array == &array) {
        of.is_bound = true;
        return of.note;
      }
  return {};
}

}  // namespace strata::inline STRATA_ABI::detail
