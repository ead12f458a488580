#include <algorithm>
#include <vector>

#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/unwritten.hpp>
#include <strata/views/copy.hpp>

namespace strata::inline STRATA_ABI::detail {

UnwrittenBox unwritten_box(const CoherentState& array, const Box& box, char* base) {
  UnwrittenBox made{base, array.shape.layout_of(box), {}, static_cast<int>(array.shape.element_bytes), {}};
  for (int r = 0; r < box.rank(); ++r) made.lower[r] = box.lower(r);
  const std::size_t length = std::min<std::size_t>(array.label.size(), UnwrittenBox::longest_label - 1);
  std::copy_n(array.label.begin(), length, made.label);
  return made;
}

void mark_unwritten(const UnwrittenBox& box, DeviceInstance& device, SpaceId space, QueueState& queue) {
  std::vector<unsigned char> element(static_cast<std::size_t>(box.element_bytes), 0xff);
  if (box.element_bytes >= least_unwritten_bytes)
    for (int k = 0; k < box.element_bytes; ++k) element[static_cast<std::size_t>(k)] = unwritten_byte(k);
  fill_array({box.base, space, &box.layout, box.label, &device}, element.data(), element.size(), &queue);
}

}  // namespace strata::inline STRATA_ABI::detail
