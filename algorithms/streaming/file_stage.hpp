// FileStage: page-locked memory of the host for rows of an array in a file on their way to a device and back.
// The file is read and written while other slices are copied and computed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/devices/backend.hpp>
#include <strata/views/coherent/file_storage.hpp>
#include <strata/views/coherent/instance.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// Whether rows are whole tiles of the layout: others are copied through the mapping of the file.
bool lie_in_tiles(const ArrayShape& shape, ResidentRows rows);

class FileStage {
 public:
  /// For `depth` tiles under way in each direction, each of at most `rows_bytes` bytes. Throws OutOfMemory.
  FileStage(FileStorage& file, const ArrayShape& shape, const char* label, index_t rows_bytes, int depth,
            DeviceInstance& device);
  /// Waits for what is under way; errors are dropped.
  ~FileStage();
  FileStage(const FileStage&) = delete;
  FileStage& operator=(const FileStage&) = delete;

  int depth() const { return static_cast<int>(in_.size()); }
  bool pinned() const { return pinned_; }

  /// A tile replaces tile - depth, whose copies to the device must be done.
  void begin_tile(long tile);
  void read(long tile, ResidentRows rows);
  bool has(long tile) const { return in_[slot(tile)].tile == tile; }
  /// FileError.
  void wait_for_reads(long tile);
  /// Where row 0 of the array would be, as far as `rows` are concerned.
  char* base_of_read(long tile, ResidentRows rows) const;

  /// Makes room for rows that a device is going to write, in place of those of tile - depth, which must be in
  /// the file.
  char* base_to_write(long tile, ResidentRows rows);
  /// Begins to write the rows of the tile, which must be there, to the file.
  void write(long tile);
  bool has_written(long tile) const { return out_[slot(tile)].tile == tile && out_[slot(tile)].begun; }
  /// FileError.
  void wait_for_writes(long tile);

 private:
  struct Region {
    ResidentRows rows;
    char* memory;
    files::AsyncFile::Ticket ticket;
  };
  struct Stage {
    AllocationRef block;
    Ref<PinnedMemory> pin;
    char* memory = nullptr;
    index_t used = 0;
    long tile = -1;
    bool begun = false;  // writes
    std::vector<Region> regions;
  };
  std::size_t slot(long tile) const { return static_cast<std::size_t>(tile % depth()); }
  Region& add(Stage& stage, ResidentRows rows);
  void wait(Stage& stage);
  static void reset(Stage& stage, long tile);

  FileStorage& file_;
  const ArrayShape& shape_;
  index_t capacity_;
  bool pinned_ = true;
  std::vector<Stage> in_, out_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
