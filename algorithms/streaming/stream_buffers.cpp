// SPDX-License-Identifier: Apache-2.0
#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_buffers.hpp>
#include <strata/core/allocation_report.hpp>
#include <strata/devices/host/device.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

bool StreamBuffers::has_addresses() const {
  if (suffice()) return true;
  std::vector<Ref<ReservedMemory>> reserved;
  for (std::size_t a = 0; a < of_array_.size(); ++a) {
    const index_t bytes = job_.is_whole(a) ? 0 : bytes_of_each(a);
    if (bytes == 0) continue;
    const ArrayShape& shape = job_.states[a]->shape;
    reserved.push_back(
        job_.device.reserve({2 * static_cast<std::size_t>(bytes), job_.problem.arrays[a].label.c_str(),
                             static_cast<std::size_t>(shape.element_bytes), &shape.layout}));
    if (!reserved.back()) return false;
  }
  return true;
}

// Whether the buffers of an earlier run do for the plan.
bool StreamBuffers::suffice() const {
  index_t held = 0;
  for (std::size_t a = 0; a < of_array_.size(); ++a) {
    const std::vector<Buffer>& buffers = of_array_[a];
    if (buffers.size() < count(a) || buffers[0].bytes < bytes_of_each(a)) return false;
    const bool wraps = job_.plan.wraps() && !job_.is_whole(a);
    if (buffers[0].data != nullptr && bool(buffers[0].wraps) != wraps) return false;
    for (const Buffer& buffer : buffers) held += buffer.bytes;
  }
  return held <= job_.budget;
}
std::size_t StreamBuffers::count(std::size_t a) const {
  if (job_.is_whole(a) || job_.plan.wraps()) return 1;
  return static_cast<std::size_t>(job_.plan.slots * (job_.is_state(a) ? 2 : 1));
}
index_t StreamBuffers::bytes_of_each(std::size_t a) const {
  const StreamArray& array = job_.problem.arrays[a];
  const StreamPlan& plan = job_.plan;
  if (job_.is_whole(a)) return buffer_bytes(array, 1);
  return buffer_bytes(array, plan.window_rows[a], plan.wraps() ? plan.repeat_granule : 0);
}

void StreamBuffers::make() {
  if (suffice()) return;
  for (std::vector<Buffer>& buffers : of_array_) buffers.clear();
  for (std::size_t a = 0; a < of_array_.size(); ++a) {
    const index_t bytes = bytes_of_each(a);
    if (bytes == 0) {  // of an array that this run does not touch
      of_array_[a].resize(count(a));
      continue;
    }
    for (std::size_t k = count(a); k > 0; --k) of_array_[a].push_back(make_buffer(a, bytes));
  }
}

StreamBuffers::Buffer StreamBuffers::make_buffer(std::size_t a, index_t bytes) const {
  const ArrayShape& shape = job_.states[a]->shape;
  const AllocationRequest request{static_cast<std::size_t>(bytes), job_.problem.arrays[a].label.c_str(),
                                  static_cast<std::size_t>(shape.element_bytes), &shape.layout};
  Buffer buffer;
  buffer.bytes = bytes;
  if (!job_.plan.wraps() || job_.is_whole(a)) {
    buffer.block = AllocationRef(job_.device.allocate(request));
    buffer.data = static_cast<char*>(buffer.block.get()->data);
    return buffer;
  }
  // Any window of it lies in one piece where its bytes come twice, one copy after the other.
  AllocationRequest twice = request;
  twice.bytes *= 2;
  buffer.wraps = job_.device.reserve(twice);
  if (!buffer.wraps || !buffer.wraps->commit_repeating(request.bytes)) {
    const std::string place = describe_space(job_.device.space());
    fail_out_of_memory(request, job_.device.space(), place.c_str(),
                       buffer.wraps ? "there is not enough memory" : "there are no addresses for it");
  }
  buffer.data = static_cast<char*>(buffer.wraps->data());
  return buffer;
}

char* StreamBuffers::base_of(std::size_t a, long tile, int buffer, index_t shift) const {
  if (job_.is_whole(a)) return whole(a);
  const StreamArray& array = job_.problem.arrays[a];
  const index_t window = tiles_.tile(tile).windows[a].begin;
  if (job_.plan.wraps()) {
    const Buffer& wraps = of_array_[a][0];
    if (wraps.data == nullptr) return nullptr;
    // Rows are counted on from pass to pass.
    const index_t first = floor_div(window, array.align) * array.align;
    const index_t place =
        (tiles_.pass_of(tile) * rows_of_pass(array) + first) * array.row_bytes % wraps.bytes;
    return wraps.data + place - first * array.row_bytes;
  }
  const long slot = tiles_.slot_of(tile);
  const std::size_t number = static_cast<std::size_t>(job_.is_state(a) ? 2 * slot + buffer : slot);
  char* const data = of_array_[a][number].data;
  if (data == nullptr) return nullptr;
  return data - floor_div(window - shift, array.align) * array.align * array.row_bytes;
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
