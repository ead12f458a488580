#include <algorithm>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>
#include <strata/views/copy.hpp>

namespace strata::inline STRATA_ABI::detail {

bool StreamRun::is_staged(const StreamCopy& copy) const {
  const Operand& operand = operands_[static_cast<std::size_t>(copy.array)];
  return operand.stage && lie_in_tiles(operand.state->shape, copy.rows) && !is_direct(copy);
}

void StreamRun::copy(const StreamCopy& copy, long tile, bool is_upload) {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  const Operand& operand = operands_[a];
  const CoherentState& state = *operand.state;
  const LayoutDescriptor layout =
      state.shape.layout_of(state.shape.domain.with_bounds(0, copy.rows.begin, copy.rows.end));
  const int side = is_state(a) ? copy.side ^ turned_ : 0;
  const std::size_t element = static_cast<std::size_t>(state.shape.element_bytes);
  const index_t bytes = rows_of(copy.rows) * problem_.arrays[a].row_bytes;
  (is_upload ? report_.bytes_to_device : report_.bytes_to_host) += bytes;
  if (is_direct(copy)) {
    const ArrayShape::Bytes all = state.shape.bytes_of_rows(copy.rows);
    char* const first = base_of(a, tile, copy.buffer, copy.shift) + all.begin;
    const std::size_t count = static_cast<std::size_t>(all.end - all.begin);
    const index_t offset = operand.file->first_byte() + all.begin;
    if (is_upload) operand.direct->read(*upload_, first, count, offset);
    else operand.direct->write(*download_, first, count, offset);
    report_.bytes_direct += bytes;
    return;
  }
  char* base = operand.host[side];
  if (is_staged(copy))
    base = is_upload ? operand.stage->base_of_read(tile, copy.rows)
                     : operand.stage->base_to_write(tile, copy.rows);
  if (operand.direct && !is_upload) operands_[a].partly_by_host = tile;
  const CopySide host{base, state.main.space, &layout, state.label.c_str(), state.main.device};
  const CopySide device{base_of(a, tile, copy.buffer, copy.shift), device_.space(), &layout,
                        state.label.c_str(), &device_};
  if (is_upload) copy_arrays(device, host, element, &*upload_);
  else copy_arrays(host, device, element, &*download_);
}

// To the device, from who has it: where others keep rows from the pass before, from them.
void StreamRun::bring(const StreamCopy& all, long tile, int pass) {
  const std::size_t a = static_cast<std::size_t>(all.array);
  if (seams_ == nullptr || pass == 0 || !is_state(a)) return copy(all, tile, true);
  const CoherentState& state = *operands_[a].state;
  for (const SeamPlan::Source& source : seams_->plan().sources(number_, all.rows)) {
    StreamCopy part = all;
    part.rows = source.rows;
    if (source.run == SeamPlan::from_host) {
      copy(part, tile, true);
      continue;
    }
    const LayoutDescriptor layout =
        state.shape.layout_of(state.shape.domain.with_bounds(0, part.rows.begin, part.rows.end));
    const CopySide to{base_of(a, tile, part.buffer, part.shift), device_.space(), &layout,
                      state.label.c_str(), &device_};
    copy_arrays(to, seams_->side(static_cast<std::size_t>(source.run), source.end, pass - 1, a, layout),
                static_cast<std::size_t>(state.shape.element_bytes), &*upload_);
    report_.bytes_between_devices += rows_of(part.rows) * problem_.arrays[a].row_bytes;
  }
}

// Of rows that go home, those that others read in the next pass.
void StreamRun::keep_for_others(const StreamCopy& copy, long tile, int pass) {
  const std::size_t a = static_cast<std::size_t>(copy.array);
  if (seams_ == nullptr || pass + 1 >= plan_.passes || !is_state(a)) return;
  const CoherentState& state = *operands_[a].state;
  for (const int end : {0, 1}) {
    const ResidentRows kept = seams_->plan().kept(number_)[static_cast<std::size_t>(end)];
    const ResidentRows rows{std::max(kept.begin, copy.rows.begin), std::min(kept.end, copy.rows.end)};
    if (rows_of(rows) == 0) continue;
    const LayoutDescriptor layout =
        state.shape.layout_of(state.shape.domain.with_bounds(0, rows.begin, rows.end));
    const CopySide from{base_of(a, tile, copy.buffer, copy.shift), device_.space(), &layout,
                        state.label.c_str(), &device_};
    copy_arrays(seams_->side(number_, end, pass, a, layout), from,
                static_cast<std::size_t>(state.shape.element_bytes), &*download_);
    report_.bytes_moved += rows_of(rows) * problem_.arrays[a].row_bytes;
  }
}

void StreamRun::move(const StreamMove& move, long tile) {
  const std::size_t a = static_cast<std::size_t>(move.array);
  const CoherentState& state = *operands_[a].state;
  const LayoutDescriptor layout =
      state.shape.layout_of(state.shape.domain.with_bounds(0, move.rows.begin, move.rows.end));
  const CopySide from{base_of(a, move.from_previous ? tile - 1 : tile, move.from_buffer, 0), device_.space(),
                      &layout, state.label.c_str(), &device_};
  const CopySide to{base_of(a, tile, move.buffer, 0), device_.space(), &layout, state.label.c_str(),
                    &device_};
  copy_arrays(to, from, static_cast<std::size_t>(state.shape.element_bytes), &compute_);
  report_.bytes_moved += rows_of(move.rows) * problem_.arrays[a].row_bytes;
}

void StreamRun::copy_whole(bool is_upload) {
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (!is_whole(a) || !(is_upload ? reads(array(a).mode) : writes(array(a).mode))) continue;
    const CoherentState& state = *operands_[a].state;
    const LayoutDescriptor& layout = state.shape.layout;
    const CopySide host{operands_[a].host[0], state.main.space, &layout, state.label.c_str(),
                        state.main.device};
    const CopySide device{operands_[a].buffers[0].data, device_.space(), &layout, state.label.c_str(),
                          &device_};
    const std::size_t element = static_cast<std::size_t>(state.shape.element_bytes);
    if (is_upload) copy_arrays(device, host, element, &*upload_);
    else copy_arrays(host, device, element, &*download_);
    (is_upload ? report_.bytes_to_device : report_.bytes_to_host) += state.shape.bytes();
  }
}

}  // namespace strata::inline STRATA_ABI::detail
