// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <strata/algorithms/streaming/file_stage.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/serial/device.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

// Direct I/O wants memory aligned as the file is.
constexpr index_t alignment = 4096;
constexpr index_t most_pieces = 8;  // of a tile, most

index_t round_up(index_t n) { return (n + alignment - 1) / alignment * alignment; }

}  // namespace

FileStage::FileStage(FileStorage& file, const ArrayShape& shape, const char* label, index_t rows_bytes,
                     int depth, DeviceInstance& device)
    : file_(file), shape_(shape), capacity_(round_up(rows_bytes) + most_pieces * 2 * alignment) {
  DeviceInstance& host = Serial().backend();
  for (std::vector<Stage>* const stages : {&in_, &out_}) {
    stages->resize(static_cast<std::size_t>(depth));
    for (Stage& stage : *stages) {
      const index_t bytes = capacity_ + alignment;
      stage.block =
          AllocationRef(host.allocate({static_cast<std::size_t>(bytes), label,
                                       static_cast<std::size_t>(shape.element_bytes), &shape.layout}));
      char* const memory = static_cast<char*>(stage.block.get()->data);
      const index_t ahead = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(memory) % alignment);
      stage.memory = ahead == 0 ? memory : memory + (alignment - ahead);
      if (!device.host_accessible()) {
        stage.pin = device.pin(stage.memory, static_cast<std::size_t>(capacity_));
        pinned_ = pinned_ && static_cast<bool>(stage.pin);
      }
    }
  }
}

FileStage::~FileStage() {
  for (std::vector<Stage>* const stages : {&in_, &out_})
    for (Stage& stage : *stages)
      for (const Region& region : stage.regions) {
        try {
          file_.file().wait(region.ticket);
        } catch (const Error&) {
          continue;  // reported where it was waited for, or the launch failed before
        }
      }
}

bool lie_in_tiles(const ArrayShape& shape, ResidentRows rows) {
  if (shape.layout.tile_log2 < 0) return true;
  const index_t lanes = index_t{1} << shape.layout.tile_log2;
  return rows.begin % lanes == 0 && (rows.end % lanes == 0 || rows.end == shape.domain.extent(0));
}

FileStage::Region& FileStage::add(Stage& stage, ResidentRows rows) {
  const ArrayShape::Bytes bytes = shape_.bytes_of_rows(rows);
  const index_t at = round_up(stage.used) + (file_.first_byte() + bytes.begin) % alignment;
  stage.used = at + bytes.end - bytes.begin;
  if (stage.used > capacity_)
    throw Error("a slice of \"" + file_.path() + "\" is larger than was planned; please report this");
  stage.regions.push_back({rows, stage.memory + at, {}});
  return stage.regions.back();
}

void FileStage::reset(Stage& stage, long tile) {
  stage.regions.clear();
  stage.used = 0;
  stage.tile = tile;
  stage.begun = false;
}

void FileStage::wait(Stage& stage) {
  for (const Region& region : stage.regions) file_.file().wait(region.ticket);
}

void FileStage::begin_tile(long tile) { reset(in_[slot(tile)], tile); }

void FileStage::read(long tile, ResidentRows rows) {
  Region& region = add(in_[slot(tile)], rows);
  const ArrayShape::Bytes bytes = shape_.bytes_of_rows(rows);
  region.ticket = file_.file().read(region.memory, bytes.end - bytes.begin, file_.first_byte() + bytes.begin);
}
void FileStage::wait_for_reads(long tile) { wait(in_[slot(tile)]); }

char* FileStage::base_of_read(long tile, ResidentRows rows) const {
  for (const Region& region : in_[slot(tile)].regions)
    if (region.rows.begin == rows.begin && region.rows.end == rows.end)
      return region.memory - shape_.bytes_of_rows(rows).begin;
  throw Error("rows of \"" + file_.path() + "\" were not read that a slice needs; please report this");
}

char* FileStage::base_to_write(long tile, ResidentRows rows) {
  Stage& stage = out_[slot(tile)];
  if (stage.tile != tile) reset(stage, tile);
  return add(stage, rows).memory - shape_.bytes_of_rows(rows).begin;
}

void FileStage::write(long tile) {
  Stage& stage = out_[slot(tile)];
  if (stage.tile != tile) reset(stage, tile);  // it writes no rows of this array
  for (Region& region : stage.regions) {
    const ArrayShape::Bytes bytes = shape_.bytes_of_rows(region.rows);
    region.ticket =
        file_.file().write(region.memory, bytes.end - bytes.begin, file_.first_byte() + bytes.begin);
  }
  stage.begun = true;
}
void FileStage::wait_for_writes(long tile) {
  if (has_written(tile)) wait(out_[slot(tile)]);
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
