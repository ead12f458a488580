// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/core/error.hpp>
#include <strata/views/coherent/access_region.hpp>
#include <strata/views/coherent/instance.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Of smaller arrays all is allocated at once where addresses cannot be reserved.
constexpr index_t small_array_bytes = index_t{4} << 20;

bool covers(ResidentRows rows, ResidentRows part) {
  return part.begin >= part.end || (rows.begin <= part.begin && part.end <= rows.end);
}

}  // namespace

// ---- ArrayShape

ArrayShape::Bytes ArrayShape::bytes_of_rows(ResidentRows rows) const {
  if (rows.begin >= rows.end) return {0, 0};
  if (layout.rank == 0 || !contiguous_rows) return {0, bytes()};
  if (layout.tile_log2 >= 0) {
    const index_t lanes = index_t{1} << layout.tile_log2, tile_bytes = layout.tile_stride * element_bytes;
    return {(rows.begin / lanes) * tile_bytes, ((rows.end + lanes - 1) / lanes) * tile_bytes};
  }
  const index_t row_bytes = layout.stride[0] * element_bytes;
  return {rows.begin * row_bytes, rows.end * row_bytes};
}

ResidentRows ArrayShape::rows_of(const Box& box) const {
  if (box.rank() == 0) return {0, 1};
  if (box.empty()) return {0, 0};
  return {box.lower(0), box.upper(0)};
}

ResidentRows ArrayShape::rows_of(const ArrayPart& part) const {
  ResidentRows rows{0, 0};
  part.visit([&](const Box& box) { rows = cover(rows, rows_of(box)); });
  return rows;
}

LayoutDescriptor ArrayShape::layout_of(const Box& box) const {
  LayoutDescriptor part = layout;
  for (int r = 0; r < part.rank; ++r) {
    part.extent[r] = box.extent(r);
    if (r == 0 && part.tile_log2 >= 0) part.phase += box.lower(0);
    else part.shift += box.lower(r) * part.stride[r];
  }
  return part;
}

// ---- Instance

void Instance::adopt(const AllocationRef& block, char* base, const ArrayShape& shape) {
  block_ = block;
  base_ = base;
  rows_ = asked_ = shape.rows_of(shape.domain);
  bytes_ = shape.bytes();
  can_reserve_ = false;
}

Instance::Growth Instance::growth(const ArrayShape& shape, DeviceInstance& device, const char* label,
                                  ResidentRows wanted) {
  if (wanted.begin >= wanted.end || covers(rows_, wanted)) return {rows_, 0, true};
  const ResidentRows all = shape.rows_of(shape.domain);
  if (!has_memory() && !reserved_ && can_reserve_) {
    // What needs all of its memory at once will not grow: a block is quicker to get.
    if (shape.contiguous_rows && shape.layout.rank > 0 && !covers(wanted, all))
      reserved_ = device.reserve({static_cast<std::size_t>(shape.bytes()), label,
                                  static_cast<std::size_t>(shape.element_bytes), &shape.layout});
    can_reserve_ = static_cast<bool>(reserved_);
  }
  const bool whole = !shape.contiguous_rows ||
                     (!reserved_ && (shape.layout.rank == 0 || shape.bytes() <= small_array_bytes));
  const ResidentRows rows = whole ? all : cover(rows_, wanted);
  const ArrayShape::Bytes bytes = shape.bytes_of_rows(rows);
  return {rows, bytes.end - bytes.begin - bytes_, reserved_ || !has_memory()};
}

bool Instance::grow(const ArrayShape& shape, DeviceInstance& device, const char* label, const Growth& growth,
                    Instance& old) {
  const ArrayShape::Bytes bytes = shape.bytes_of_rows(growth.rows);
  if (reserved_) {
    if (!reserved_->commit(static_cast<std::size_t>(bytes.begin), static_cast<std::size_t>(bytes.end)))
      return false;
    base_ = static_cast<char*>(reserved_->data());
  } else {
    AllocationRef block;
    try {
      block = AllocationRef(device.allocate({static_cast<std::size_t>(bytes.end - bytes.begin), label,
                                             static_cast<std::size_t>(shape.element_bytes), nullptr}));
    } catch (const OutOfMemory&) {
      return false;
    }
    if (has_memory()) old = *this;
    block_ = std::move(block);
    base_ = static_cast<char*>(block_.get()->data) - bytes.begin;
  }
  rows_ = growth.rows;
  bytes_ = bytes.end - bytes.begin;
  return true;
}

index_t Instance::ask(const ArrayShape& shape, ResidentRows rows) {
  if (covers(asked_, rows)) return 0;
  const ResidentRows before = asked_;
  asked_ = cover(asked_, rows);
  const auto size = [](ResidentRows r) { return r.end > r.begin ? r.end - r.begin : index_t{0}; };
  const index_t all = std::max<index_t>(size(shape.rows_of(shape.domain)), 1);
  return (size(asked_) - size(before)) * (shape.bytes_of(shape.domain) / all);
}

}  // namespace strata::inline STRATA_ABI::detail
