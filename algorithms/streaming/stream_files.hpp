// StreamFiles: transfers between the arrays of a run that are in files and the device.
//
// There are three ways to transfer rows. Where it can, a device itself reads and writes whole blocks of the
// file (DirectFile). Whole tiles of the layout go through page-locked memory of the host (FileStage), which
// is read from the file some tiles ahead and written to it some tiles later. All others go through the
// mapping of the file, as arrays in memory do (StreamCopies).
//
// Tiles are read in order and written in order. A tile that reads what an earlier one writes waits for it on
// the host.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <strata/algorithms/streaming/file_stage.hpp>
#include <strata/algorithms/streaming/stream_tiles.hpp>
#include <strata/devices/direct_file.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamFiles {
 public:
  /// The job and its tiles outlive this.
  StreamFiles(const StreamJob& job, StreamTiles& tiles);

  // ---- before a plan

  /// From now on the device does not read and write files itself.
  void leave_to_host() { host_has_all_ = true; }
  /// Sets what files require of plans: whole tiles of layouts, one by one; for states, steps in place.
  void constrain(StreamProblem& problem, StreamOptions& options) const;
  /// Opens the files that the device reads and writes itself, and has slices cut at their blocks. Returns
  /// false where there is no such file, the user's chunk does not allow it, or slices would be too large.
  bool align_to_blocks(StreamProblem& problem, index_t chunk);
  /// The time that disks need for the plan, all at once, as far as earlier runs measured them.
  double seconds() const;

  // ---- a run

  /// Makes the stages of the plan. Throws OutOfMemory.
  void make_stages();
  /// Frees the stages: waits for transfers under way, and drops their errors.
  void drop_stages();
  /// Back to the state before any tile.
  void restart();
  bool has(std::size_t a) const { return operands_[a].file != nullptr; }
  /// Whether copies of an array in a file run at full speed.
  bool is_pinned(std::size_t a) const { return !operands_[a].stage || operands_[a].stage->pinned(); }

  /// Call before the tile's rows are copied to the device: waits until they have been read, and begins to
  /// read those of the next tiles.
  void before_upload(long tile);
  /// Call before the tile's rows are copied from the device: waits until there is room for them, and until
  /// rows that may not be written at the same time have been written.
  void before_download(long tile);
  /// After the end of all queues: waits until everything is in the files. FileError.
  void finish();

  bool is_direct(const StreamCopy& copy) const;
  /// Enqueues the transfer of a copy that is_direct(), of an array whose row 0 would be at `base` of the
  /// device.
  void transfer(const StreamCopy& copy, char* base, QueueState& queue, bool is_upload);
  /// The address that row 0 of the array would have in the stage, for other copies; null: not through a
  /// stage.
  char* staged(const StreamCopy& copy, long tile, bool is_upload);

  /// Throws the first error of the device's reads and writes so far.
  void check();
  /// The same after the end of all queues, once: it may be the reason why other work failed.
  void end_transfers();
  /// Keeps the measured rates of disks, after a run of so many seconds.
  void learn(double seconds) const;

 private:
  struct Operand {
    FileStorage* file = nullptr;  // where the array lives; null: in memory
    Ref<DirectFile> direct;       // by which the device reads and writes it itself, where it can
    long partly_by_host = -1;     // the last tile of which the host writes rows beside the device
    std::unique_ptr<FileStage> stage;
  };
  struct Bytes {
    index_t read = 0, written = 0;
  };

  void open_transfers();
  index_t most_staged(std::size_t a) const;
  bool is_staged(const StreamCopy& copy) const;
  bool begin_reads(long tile);
  void begin_writes(long tile);
  void begin_writes_until(long tile);
  void wait_for_writes(FileStage& stage, long begin, long end) const;
  void wait_for_partial_writes(long tile);
  std::map<std::uint64_t, Bytes> bytes_of_disks() const;

  const StreamJob& job_;
  StreamTiles& tiles_;
  std::vector<Operand> operands_;
  bool host_has_all_ = false;
  bool has_stages_ = false;
  long read_ = 0;     // tiles of which files were begun to be read
  long written_ = 0;  // and to be written
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
