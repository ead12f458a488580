#include <algorithm>
#include <memory>
#include <mutex>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/core/allocation_report.hpp>
#include <strata/devices/host/device.hpp>

namespace strata::inline STRATA_ABI::detail {

void StreamRun::allocate() {
  make_stages();
  make_buffers();
  if (upload_) return;
  upload_ = device_.create_queue();
  download_ = device_.create_queue();
}

void StreamRun::make_stages() {
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    operand.stage.reset();
    if (operand.file == nullptr || is_whole(a)) continue;
    const CoherentState& state = *operand.state;
    operand.stage = std::make_unique<FileStage>(*operand.file, state.shape, state.label.c_str(),
                                                most_copied(a), files_under_way, device_);
    has_files_ = true;
  }
}

// Bytes of an array that a tile copies one way by way of the host, at most.
index_t StreamRun::most_copied(std::size_t a) const {
  index_t most = 0;
  const auto look = [&](const std::vector<StreamCopy>& copies) {
    index_t bytes = 0;
    for (const StreamCopy& copy : copies)
      if (static_cast<std::size_t>(copy.array) == a && !is_direct(copy))
        bytes += buffer_bytes(problem_.arrays[a], rows_of(copy.rows));
    most = std::max(most, bytes);
  };
  for (const StreamPass* const pass : {&plan_.pass, &plan_.last})
    for (const StreamTile& tile : pass->tiles) {
      look(tile.uploads);
      look(tile.downloads);
    }
  return most;
}

void StreamRun::pin_arrays() {
  report_.pinned = true;
  if (device_.host_accessible()) return;
  // Two threads may stream an array that both read.
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    Operand& operand = operands_[a];
    CoherentState& state = *operand.state;
    if (problem_.arrays[a].temporary) continue;  // nothing of it is copied
    if (operand.file != nullptr) {
      report_.pinned = report_.pinned && (!operand.stage || operand.stage->pinned());
      continue;
    }
    if (!state.pinned)
      state.pinned = device_.pin(state.main.base, static_cast<std::size_t>(state.shape.bytes()));
    // A second copy lies where the first one was made.
    const bool second_too = operand.host[1] == operand.host[0] || state.main.space.shared;
    if (!state.pinned || !second_too) report_.pinned = false;
  }
}

// Whether there are addresses for the buffers of the plan that wrap round, beside those that it has.
bool StreamRun::has_addresses() const {
  if (has_buffers()) return true;
  std::vector<Ref<ReservedMemory>> reserved;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const index_t bytes = is_whole(a) ? 0 : bytes_of_buffer(a);
    if (bytes == 0) continue;
    const ArrayShape& shape = operands_[a].state->shape;
    reserved.push_back(device_.reserve({2 * static_cast<std::size_t>(bytes), problem_.arrays[a].label.c_str(),
                                        static_cast<std::size_t>(shape.element_bytes), &shape.layout}));
    if (!reserved.back()) return false;
  }
  return true;
}

// Whether those of an earlier run suffice.
bool StreamRun::has_buffers() const {
  index_t held = 0;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const std::vector<Buffer>& buffers = operands_[a].buffers;
    if (buffers.size() < buffer_count(a) || buffers[0].bytes < bytes_of_buffer(a)) return false;
    if (buffers[0].data != nullptr && bool(buffers[0].wraps) != (plan_.wraps() && !is_whole(a))) return false;
    for (const Buffer& buffer : buffers) held += buffer.bytes;
  }
  return held <= budget_;
}
std::size_t StreamRun::buffer_count(std::size_t a) const {
  return is_whole(a) || plan_.wraps() ? 1 : static_cast<std::size_t>(plan_.slots * (is_state(a) ? 2 : 1));
}
index_t StreamRun::bytes_of_buffer(std::size_t a) const {
  if (is_whole(a)) return buffer_bytes(problem_.arrays[a], 1);
  return buffer_bytes(problem_.arrays[a], plan_.window_rows[a], plan_.wraps() ? plan_.repeat_granule : 0);
}

void StreamRun::make_buffers() {
  if (has_buffers()) return;
  for (Operand& operand : operands_) operand.buffers.clear();
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    const std::size_t count = buffer_count(a);
    const index_t bytes = bytes_of_buffer(a);
    if (bytes == 0) {  // of an array that this run does not touch
      operands_[a].buffers.resize(count);
      continue;
    }
    for (std::size_t k = 0; k < count; ++k) operands_[a].buffers.push_back(make_buffer(a, bytes));
  }
}

StreamRun::Buffer StreamRun::make_buffer(std::size_t a, index_t bytes) {
  const ArrayShape& shape = operands_[a].state->shape;
  AllocationRequest request{static_cast<std::size_t>(bytes), array(a).label.c_str(),
                            static_cast<std::size_t>(shape.element_bytes), &shape.layout};
  Buffer buffer;
  buffer.bytes = bytes;
  if (!plan_.wraps() || is_whole(a)) {
    buffer.block = AllocationRef(device_.allocate(request));
    buffer.data = static_cast<char*>(buffer.block.get()->data);
    return buffer;
  }
  // Any window of it lies in one piece where its bytes come twice, one behind the other.
  AllocationRequest twice = request;
  twice.bytes *= 2;
  buffer.wraps = device_.reserve(twice);
  if (!buffer.wraps || !buffer.wraps->commit_repeating(request.bytes)) {
    const std::string place = describe_space(device_.space());
    fail_out_of_memory(request, device_.space(), place.c_str(),
                       buffer.wraps ? "there is not enough memory" : "there are no addresses for it");
  }
  buffer.data = static_cast<char*>(buffer.wraps->data());
  return buffer;
}

// Where row 0 of the array is, or would be, in a buffer that holds it at row `shift` of the device.
char* StreamRun::base_of(std::size_t a, long tile, int buffer, index_t shift) const {
  const Operand& operand = operands_[a];
  if (is_whole(a)) return operand.buffers[0].data;
  const StreamArray& here = problem_.arrays[a];
  if (plan_.wraps()) {
    const Buffer& wraps = operand.buffers[0];
    if (wraps.data == nullptr) return nullptr;
    // Rows are counted on from pass to pass.
    const index_t first = floor_div(tile_at(tile).windows[a].begin, here.align) * here.align;
    const index_t place = (pass_of(tile) * rows_of_pass(here) + first) * here.row_bytes % wraps.bytes;
    return wraps.data + place - first * here.row_bytes;
  }
  const long slot = windows_.window_of(tile) % plan_.slots;
  const std::size_t number = static_cast<std::size_t>(is_state(a) ? 2 * slot + buffer : slot);
  if (operand.buffers[number].data == nullptr) return nullptr;
  const index_t begin = tile_at(tile).windows[a].begin - shift;
  const index_t first = floor_div(begin, here.align) * here.align;
  return operand.buffers[number].data - first * here.row_bytes;
}

}  // namespace strata::inline STRATA_ABI::detail
