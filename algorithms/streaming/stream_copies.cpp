// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <mutex>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_copies.hpp>
#include <strata/views/copy.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

StreamCopies::StreamCopies(const StreamJob& job, const StreamTiles& tiles, const StreamQueues& queues,
                           const StreamBuffers& buffers, StreamFiles& files)
    : job_(job), tiles_(tiles), queues_(queues), buffers_(buffers), files_(files), host_(job.states.size()) {}

void StreamCopies::share(const StreamSeams* seams, std::size_t number) {
  seams_ = seams;
  number_ = number;
}
void StreamCopies::restart() {
  turned_ = 0;
  bytes_ = {};
}

void StreamCopies::set_arrays(const StreamArrays& arrays) {
  for (std::size_t a = 0; a < host_.size(); ++a) host_[a] = {arrays.host(a, 0), arrays.host(a, 1)};
  pinned_ = true;
  if (job_.device.host_accessible()) return;
  // Two threads may stream an array that both read.
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  for (std::size_t a = 0; a < host_.size(); ++a) {
    CoherentState& state = *job_.states[a];
    if (job_.problem.arrays[a].temporary) continue;  // nothing of it is copied
    if (files_.has(a)) {
      pinned_ = pinned_ && files_.is_pinned(a);
      continue;
    }
    pin(a, state);
    if (job_.sources[a]) pin(a, *job_.sources[a]);
  }
}
void StreamCopies::pin(std::size_t a, CoherentState& state) {
  if (!state.pinned)
    state.pinned = job_.device.pin(state.main.base, static_cast<std::size_t>(state.shape.bytes()));
  // A second copy of a state lies where the first one was made.
  const bool second_too = !job_.is_state(a) || host_[a][1] == host_[a][0] || state.main.space.shared;
  if (!state.pinned || !second_too) pinned_ = false;
}

// ---- sides of copies

LayoutDescriptor StreamCopies::layout_of(std::size_t a, ResidentRows rows) const {
  const ArrayShape& shape = job_.states[a]->shape;
  return shape.layout_of(shape.domain.with_bounds(0, rows.begin, rows.end));
}
std::size_t StreamCopies::element_bytes(std::size_t a) const {
  return static_cast<std::size_t>(job_.states[a]->shape.element_bytes);
}
CopySide StreamCopies::on_device(std::size_t a, char* base, const LayoutDescriptor& layout) const {
  return {base, job_.device.space(), &layout, job_.states[a]->label.c_str(), &job_.device};
}
CopySide StreamCopies::on_host(std::size_t a, char* base, const LayoutDescriptor& layout) const {
  const CoherentState& state = *job_.states[a];
  return {base, state.main.space, &layout, state.label.c_str(), state.main.device};
}

// ---- tiles

void StreamCopies::upload(long tile, int pass) {
  for (const StreamCopy& part : tiles_.tile(tile).uploads) bring(part, tile, pass);
}
void StreamCopies::move(long tile) {
  for (const StreamMove& part : tiles_.tile(tile).moves) move(part, tile);
}
void StreamCopies::download(long tile, int pass) {
  for (const StreamCopy& part : tiles_.tile(tile).downloads) {
    copy(part, tile, false, pass);
    keep_for_others(part, tile, pass);
  }
}

void StreamCopies::copy(const StreamCopy& copy, long tile, bool is_upload, int pass) {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  const index_t bytes = rows_of(copy.rows) * job_.problem.arrays[a].row_bytes;
  (is_upload ? bytes_.to_device : bytes_.to_host) += bytes;
  char* const device_base = buffers_.base_of(a, tile, copy.buffer, copy.shift);
  QueueState& queue = is_upload ? queues_.upload() : queues_.download();
  if (files_.is_direct(copy)) {
    files_.transfer(copy, device_base, queue, is_upload);
    bytes_.direct += bytes;
    return;
  }
  char* base = files_.staged(copy, tile, is_upload);
  if (base == nullptr) {
    const bool is_source = is_upload && pass == 0;
    base = host_[a][job_.is_state(a) ? static_cast<std::size_t>(copy.side ^ turned_) : is_source ? 0 : 1];
  }
  const LayoutDescriptor layout = layout_of(a, copy.rows);
  const CopySide host = on_host(a, base, layout), device = on_device(a, device_base, layout);
  if (is_upload) copy_arrays(device, host, element_bytes(a), &queue);
  else copy_arrays(host, device, element_bytes(a), &queue);
}

// To the device, from who has it: where others keep rows from the pass before, from them.
void StreamCopies::bring(const StreamCopy& all, long tile, int pass) {
  const std::size_t a = static_cast<std::size_t>(all.array);
  if (seams_ == nullptr || pass == 0 || !job_.is_state(a)) return copy(all, tile, true, pass);
  for (const SeamPlan::Source& source : seams_->plan().sources(number_, all.rows)) {
    StreamCopy part = all;
    part.rows = source.rows;
    if (source.run == SeamPlan::from_host) {
      copy(part, tile, true, pass);
      continue;
    }
    const LayoutDescriptor layout = layout_of(a, part.rows);
    copy_arrays(on_device(a, buffers_.base_of(a, tile, part.buffer, part.shift), layout),
                seams_->side(static_cast<std::size_t>(source.run), source.end, pass - 1, a, layout),
                element_bytes(a), &queues_.upload());
    bytes_.between_devices += rows_of(part.rows) * job_.problem.arrays[a].row_bytes;
  }
}

// Of rows that are copied to the host, those that others read in the next pass.
void StreamCopies::keep_for_others(const StreamCopy& copy, long tile, int pass) {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  if (seams_ == nullptr || pass + 1 >= job_.plan.passes || !job_.is_state(a)) return;
  for (const int end : {0, 1}) {
    const ResidentRows rows = both(seams_->plan().kept(number_)[static_cast<std::size_t>(end)], copy.rows);
    if (rows_of(rows) == 0) continue;
    const LayoutDescriptor layout = layout_of(a, rows);
    copy_arrays(seams_->side(number_, end, pass, a, layout),
                on_device(a, buffers_.base_of(a, tile, copy.buffer, copy.shift), layout), element_bytes(a),
                &queues_.download());
    bytes_.moved += rows_of(rows) * job_.problem.arrays[a].row_bytes;
  }
}

void StreamCopies::move(const StreamMove& move, long tile) {
  const std::size_t a = static_cast<std::size_t>(move.array);
  const LayoutDescriptor layout = layout_of(a, move.rows);
  const long before = move.from_previous ? tile - 1 : tile;
  copy_arrays(on_device(a, buffers_.base_of(a, tile, move.buffer, 0), layout),
              on_device(a, buffers_.base_of(a, before, move.from_buffer, 0), layout), element_bytes(a),
              &queues_.compute());
  bytes_.moved += rows_of(move.rows) * job_.problem.arrays[a].row_bytes;
}

// ---- as a whole

void StreamCopies::upload_whole() {
  for (std::size_t a = 0; a < host_.size(); ++a) {
    const StreamArray& array = job_.problem.arrays[a];
    if (!job_.is_whole(a) || !array.used || !reads(array.mode)) continue;
    const ArrayShape& shape = job_.states[a]->shape;
    copy_arrays(on_device(a, buffers_.whole(a), shape.layout), on_host(a, host_[a][0], shape.layout),
                element_bytes(a), &queues_.upload());
    bytes_.to_device += shape.bytes();
  }
}
void StreamCopies::download_whole() {
  for (std::size_t a = 0; a < host_.size(); ++a) {
    if (!job_.is_whole(a) || !writes(job_.problem.arrays[a].mode)) continue;
    const ArrayShape& shape = job_.states[a]->shape;
    copy_arrays(on_host(a, host_[a][0], shape.layout), on_device(a, buffers_.whole(a), shape.layout),
                element_bytes(a), &queues_.download());
    bytes_.to_host += shape.bytes();
  }
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
