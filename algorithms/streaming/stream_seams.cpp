// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_seams.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

StreamSeams::StreamSeams(SeamPlan plan, const StreamProblem& problem, int passes)
    : plan_(std::move(plan)), problem_(problem), turns_(std::clamp(passes - 1, 0, 2)) {}

index_t StreamSeams::bytes(std::size_t k) const {
  index_t bytes = 0;
  if (plan_.empty()) return bytes;
  for (const StreamArray& array : problem_.arrays)
    if (array.use == StreamArray::Use::State)
      for (const ResidentRows rows : plan_.kept(k))
        if (rows_of(rows) > 0) bytes += turns_ * buffer_bytes(array, rows_of(rows));
  return bytes;
}

void StreamSeams::allocate(std::size_t k, DeviceInstance& device,
                           const std::vector<Ref<CoherentState>>& states) {
  if (places_.size() <= k) places_.resize(k + 1);
  Place& place = places_[k];
  place.device = &device;
  place.blocks.resize(number(states.size(), 0, 0));
  for (std::size_t a = 0; a < states.size(); ++a) {
    const StreamArray& array = problem_.arrays[a];
    if (array.use != StreamArray::Use::State) continue;
    const ArrayShape& shape = states[a]->shape;
    for (int turn = 0; turn < turns_; ++turn)
      for (const int end : {0, 1}) {
        const ResidentRows rows = plan_.kept(k)[static_cast<std::size_t>(end)];
        if (rows_of(rows) == 0) continue;
        Block& block = place.blocks[number(a, turn, end)];
        block.memory = AllocationRef(device.allocate(
            {static_cast<std::size_t>(buffer_bytes(array, rows_of(rows))), array.label.c_str(),
             static_cast<std::size_t>(shape.element_bytes), &shape.layout}));
        const index_t first = rows.begin / array.align * array.align;
        block.base = static_cast<char*>(block.memory.get()->data) - first * array.row_bytes;
      }
  }
}

CopySide StreamSeams::side(std::size_t k, int end, int pass, std::size_t a,
                           const LayoutDescriptor& layout) const {
  const Place& place = places_[k];
  return {place.blocks[number(a, pass % 2, end)].base, place.device->space(), &layout,
          problem_.arrays[a].label.c_str(), place.device};
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
