// StreamPlan: a streamed launch as data: which rows are copied to which buffer of the device, which are
// computed there, which are copied back, and what each operation waits for. Pure logic: no device, no memory,
// no thread.
//
// A launch makes one or more passes over the rows of its arrays. A pass is a sequence of tiles; of a tile
// each array has a *window* of rows on the device, in one buffer, or in two for the old and the new values of
// a double-buffered field (`State`). Each tile has three stages, which devices do on three queues:
//
//     upload      [ tile 0 ][ tile 1 ][ tile 2 ] ...         host -> window
//     compute               [ tile 0 ][ tile 1 ][ tile 2 ]   moves between windows, then kernels
//     download                        [ tile 0 ][ tile 1 ]   window -> host
//
// Stages of one tile follow each other, and stages of one kind are in order; StreamWait is a further wait of
// a stage. Window w of all windows of all passes uses slot w mod `slots` of each buffer: see
// StreamWindows. In a sequence an array may instead have one ring buffer, in which its rows stay at one place
// from upload to download: then nothing is moved.
//
// Rows on the device are counted from where the array begins, and may be negative or beyond its end where
// edges are cyclic: a copy or launch of rows r has them at r + shift. Steps are counted from 1 within a pass;
// step k reads buffer (k-1) mod 2 of a state and writes buffer k mod 2.
//
// After Veit et al., "Array streaming for array programming" (the even/odd trapezoids), with its slips
// corrected, and skewed tiles in place of them on a single device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/streaming/plan/stream_problem.hpp>
#include <strata/core/access_mode.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

/// A copy between the host and the device. A State has two arrays on the host: each pass, except those of
/// Carry in place, reads side 0 and writes side 1; then they are exchanged.
struct StreamCopy {
  int array;
  int buffer;  // 0 or 1
  int side;
  ResidentRows rows;  // of the host
  index_t shift;
};
/// Rows that are on the device: from the previous tile, or from the other buffer of this one.
struct StreamMove {
  int array;
  bool from_previous;
  int from_buffer, buffer;
  ResidentRows rows;  // of the device
};
struct StreamLaunch {
  int step;
  ResidentRows work;  // the kernel's indices
  index_t shift;
};

enum class StreamStage : unsigned char { Upload, Compute, Download };
/// Waits until a stage of a tile is done, of this pass or the previous one.
struct StreamWait {
  StreamStage stage;
  int tile;
  bool previous_pass;
};

struct StreamTile {
  std::vector<ResidentRows> windows;  // of each array, rows of the device
  bool same_window = false;           // of a sequence: it uses the windows of the tile before, too
  std::vector<StreamWait> before_upload, before_download;
  std::vector<StreamCopy> uploads;
  std::vector<StreamMove> moves;
  std::vector<StreamLaunch> launches;
  std::vector<StreamCopy> downloads;
};
struct StreamPass {
  int steps = 1;
  bool in_place = true;  // else sides are exchanged after it
  std::vector<StreamTile> tiles;
};

/// Speeds: bytes a second, while both directions of the link are busy where both are used, and seconds.
struct StreamRates {
  double up = 0, down = 0;  // of the link, one way at a time
  double both = 0;          // of the link, both ways together
  double memory = 0;        // bytes read and written by a kernel that does nothing else
  double copy_latency = 0;
  double launch_latency = 0;
  bool in_turn = false;        // one thread does all, and nothing overlaps
  index_t repeat_granule = 0;  // ring buffers are multiples of so many bytes; 0: there are none
};

struct StreamBytes {
  index_t up = 0, down = 0, moved = 0;
  index_t between = 0;  // from other devices, in place of `up`
  friend bool operator==(const StreamBytes&, const StreamBytes&) = default;
};

/// In place of the tiles of a window: all tiles are in one window, of ring buffers. `slots` is then the
/// number of tiles that may be under way.
inline constexpr int wrapping = 0;

struct StreamPlan {
  StreamScheduler scheduler = StreamScheduler::Naive;
  index_t chunk = 0;
  int slots = 1;
  int tiles_per_window = 1;  // of a sequence; or `wrapping`
  int pieces = 1;  // tiles in which the rows of one chunk are copied in and out; the last one computes
  index_t repeat_granule = 0;  // of buffers that wrap round
  int passes = 0;              // all but the last one are `pass`
  StreamPass pass;
  StreamPass last;                   // may have fewer steps
  std::vector<index_t> window_rows;  // the largest window of each array, or what its buffer holds
  index_t device_bytes = 0;          // of all buffers
  StreamBytes bytes;                 // that are copied in all
  double seconds = 0;                // predicted

  const StreamPass& pass_number(int p) const { return p + 1 < passes ? pass : last; }
  bool wraps() const { return tiles_per_window == wrapping; }
};

/// Whether a problem with states is that of a part of their rows, while other devices compute the others:
/// passes of all devices then begin together, when the previous pass is done everywhere.
bool is_partial(const StreamProblem& problem);

/// A pass over all rows, or the part that the problem says, with exactly this `chunk` and these `steps`; see
/// StreamScheduler. Throws Error where that is not possible: the message says why, with the least chunk.
/// Of a part, Carry and Overlap read steps * halo rows beyond each end that is not one of the array (Carry in
/// multiples of its lag), and never work in place; EvenOdd is for all rows only.
StreamPass map_pass(const StreamProblem& problem, index_t chunk);
StreamPass overlap_pass(const StreamProblem& problem, index_t chunk, int steps);
StreamPass carry_pass(const StreamProblem& problem, index_t chunk, int steps);
StreamPass even_odd_pass(const StreamProblem& problem, index_t chunk, int steps);

/// `steps` loops of a sequence in one pass over its arrays. Each loop lags the previous one by the rows that
/// it reads of what that writes: as with carry, but the halo is declared by the loops and varies along the
/// rows. Throws Error where the rows of a loop descend, or a temporary array is read before it is written.
/// Where `tiles_per_window` is `wrapping`, windows are the rows that a tile needs, and nothing is moved; a
/// chunk may then be copied in and out in several `pieces`, each a tile: one piece reuses the memory of
/// another, so that buffers need not hold whole chunks that are being copied. A `sample` has only the first
/// tiles, up to some after that in which the last step begins; none if these are very many.
StreamPass sequence_pass(const StreamProblem& problem, index_t chunk, int steps, int tiles_per_window = 1,
                         bool sample = false, int pieces = 1);

/// Adds to the tiles of a pass their waits for the previous pass.
void follow(const StreamProblem& problem, const StreamPass& previous, StreamPass& pass);

/// The last stage of tiles that needs the rows of an array of a sequence.
StreamStage last_stage(const StreamProblem& problem, std::size_t array);
/// For how many tiles, beside the one being uploaded, a ring buffer holds rows of an array, where `slots`
/// tiles are under way: one is uploaded, one computed, one downloaded. Rows that are not downloaded are free
/// once they are computed; rows that are not uploaded either, once the next tile is computed.
int tiles_before(const StreamProblem& problem, std::size_t array, int slots, int pieces);

/// The rows by which a pass over an array advances in a ring buffer: whole tiles of its layout.
index_t rows_of_pass(const StreamArray& array);

/// Bytes of a row range in a buffer of the device; with a granule in a ring buffer.
index_t buffer_bytes(const StreamArray& array, index_t rows, index_t repeat_granule = 0);
/// Bytes of all buffers of an array whose windows have so many rows.
index_t array_bytes(const StreamArray& array, index_t rows, int slots, index_t repeat_granule);
/// Bytes of all buffers, and for each array the rows of its largest window. With a granule they are ring
/// buffers: the rows are then those that `slots` tiles need at once, rounded up to the size of the buffer.
index_t device_bytes(const StreamProblem& problem, const StreamPass& pass, int slots,
                     std::vector<index_t>& window_rows, index_t repeat_granule = 0, int pieces = 1);
StreamBytes bytes_of(const StreamProblem& problem, const StreamPass& pass);

/// The plan for a device of which `budget` bytes may be used. Throws OutOfMemory where not even the smallest
/// tiles fit, and says which budget would do.
StreamPlan make_plan(const StreamProblem& problem, index_t budget, const StreamRates& rates,
                     const StreamOptions& options);
/// The predicted time of a plan: its stages on three engines, one after the other on each.
double predict(const StreamProblem& problem, const StreamPlan& plan, const StreamRates& rates);
/// The begin of error messages of a launch: what it is, and its label, or else its arrays.
std::string launch_name(const char* what, const StreamProblem& problem);
/// The plan in some lines of text, for people.
std::string describe(const StreamProblem& problem, const StreamPlan& plan);

}  // namespace strata::inline STRATA_ABI::detail::streaming
