// StreamCopies: the copies of a run between the host and its device, from other devices, and within its
// device.
//
// Uploads and downloads are enqueued on the queues of these stages, moves on the compute queue; nothing waits
// here. The host's side of an array is StreamArrays' memory, the stage of a file, or the device's own way to
// it (StreamFiles); the device's side is a buffer (StreamBuffers). Rows that runs of other devices keep from
// the pass before come from there (StreamSeams).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include <strata/algorithms/streaming/stream_arrays.hpp>
#include <strata/algorithms/streaming/stream_buffers.hpp>
#include <strata/algorithms/streaming/stream_files.hpp>
#include <strata/algorithms/streaming/stream_queues.hpp>
#include <strata/algorithms/streaming/stream_seams.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamCopies {
 public:
  /// Bytes of rows that were copied.
  struct Bytes {
    index_t to_device = 0, to_host = 0;
    index_t direct = 0;           // of these, between files and the device itself
    index_t between_devices = 0;  // from other devices
    index_t moved = 0;            // within the device
  };

  /// All arguments must outlive this.
  StreamCopies(const StreamJob& job, const StreamTiles& tiles, const StreamQueues& queues,
               const StreamBuffers& buffers, StreamFiles& files);

  /// Sets the host memory of the arrays, which must outlive the run. Pins it, once for each array.
  void set_arrays(const StreamArrays& arrays);
  /// Whether all can be copied at the full speed of the link.
  bool pinned() const { return pinned_; }
  /// This is run `number` of those that keep rows for each other; none by default.
  void share(const StreamSeams* seams, std::size_t number);

  /// Back to the state before any tile, with the results of states on side 0.
  void restart();
  /// After a pass that is not in place: states have their values on the other side now.
  void change_sides() { turned_ ^= 1; }
  /// The side that has the values of states.
  int side() const { return turned_; }

  /// Enqueue the copies of the tile, of pass `pass`, in this stage.
  void upload(long tile, int pass);
  void move(long tile);
  void download(long tile, int pass);
  /// Enqueue the copies of arrays that are on the device as a whole: to it before all tiles, from it after
  /// all of them.
  void upload_whole();
  void download_whole();

  const Bytes& bytes() const { return bytes_; }

 private:
  LayoutDescriptor layout_of(std::size_t a, ResidentRows rows) const;
  std::size_t element_bytes(std::size_t a) const;
  CopySide on_device(std::size_t a, char* base, const LayoutDescriptor& layout) const;
  CopySide on_host(std::size_t a, char* base, const LayoutDescriptor& layout) const;
  void pin(std::size_t a, CoherentState& state);
  void copy(const StreamCopy& copy, long tile, bool is_upload, int pass);
  void bring(const StreamCopy& copy, long tile, int pass);
  void keep_for_others(const StreamCopy& copy, long tile, int pass);
  void move(const StreamMove& move, long tile);

  const StreamJob& job_;
  const StreamTiles& tiles_;
  const StreamQueues& queues_;
  const StreamBuffers& buffers_;
  StreamFiles& files_;
  std::vector<std::array<char*, 2>> host_;  // of each array, the sides, or its source and itself
  const StreamSeams* seams_ = nullptr;
  std::size_t number_ = 0;
  bool pinned_ = true;
  int turned_ = 0;
  Bytes bytes_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
