// StreamPlan: what a streamed launch does, as data: which rows go to which buffer of the device, what is
// computed there, what comes back, and what each of these waits for. Pure logic: no device, no memory, no
// thread.
//
// A launch makes one or more passes over the rows of its arrays. A pass is a sequence of tiles; of a tile
// each array has a *window* of rows on the device, in one buffer, or in two for the old and the new values of
// a double-buffered field (`State`). Each tile has three stages, which devices do on three queues:
//
//     upload      [ tile 0 ][ tile 1 ][ tile 2 ] ...         host -> window
//     compute               [ tile 0 ][ tile 1 ][ tile 2 ]   moves between windows, then kernels
//     download                        [ tile 0 ][ tile 1 ]   window -> host
//
// Stages of one tile follow each other, and stages of one kind are in order; what else a stage waits for is
// said by StreamWait. Window w of all windows of all passes uses slot w mod `slots` of each buffer: see
// StreamWindows. Of a sequence an array may instead have one buffer that wraps round, in which its rows lie
// from when they come until they have gone: then nothing is moved.
//
// Rows on the device are counted from where the array begins, and may be negative or beyond its end where
// edges are cyclic: a copy or launch of rows r has them at r + shift. Steps are counted from 1 within a pass;
// step k reads buffer (k-1) mod 2 of a state and writes buffer k mod 2.
//
// After Veit et al., "Array streaming for array programming" (the even/odd trapezoids), with its slips
// mended, and skewed tiles in place of them where one device does all.
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/streaming/plan/stream_problem.hpp>
#include <strata/core/access_mode.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail {

/// A copy between the host and the device. A State has two arrays on the host, of which each pass but those
/// of Carry in place reads side 0 and writes side 1; then they change places.
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
  bool same_window = false;           // of a sequence: it goes on in the windows of the tile before
  std::vector<StreamWait> before_upload, before_download;
  std::vector<StreamCopy> uploads;
  std::vector<StreamMove> moves;
  std::vector<StreamLaunch> launches;
  std::vector<StreamCopy> downloads;
};
struct StreamPass {
  int steps = 1;
  bool in_place = true;  // else sides change places after it
  std::vector<StreamTile> tiles;
};

/// How fast things go: bytes a second, while both ways of the link are busy where both are used, and seconds.
struct StreamRates {
  double up = 0, down = 0;  // of the link, one way at a time
  double both = 0;          // of the link, both ways together
  double memory = 0;        // bytes read and written by a kernel that does nothing else
  double copy_latency = 0;
  double launch_latency = 0;
  bool in_turn = false;        // one thread does all: nothing overlaps
  index_t repeat_granule = 0;  // buffers may wrap round, in multiples of so many bytes; 0: they may not
};

struct StreamBytes {
  index_t up = 0, down = 0, moved = 0;
  index_t between = 0;  // from other devices, in place of `up`
  friend bool operator==(const StreamBytes&, const StreamBytes&) = default;
};

/// In place of the tiles of a window: all tiles are in one, whose buffers wrap round. `slots` is then how
/// many tiles may be under way.
inline constexpr int wrapping = 0;

struct StreamPlan {
  StreamScheduler scheduler = StreamScheduler::Naive;
  index_t chunk = 0;
  int slots = 1;
  int tiles_per_window = 1;    // of a sequence; or `wrapping`
  int pieces = 1;              // tiles that bring and take home the rows of one chunk; the last one computes
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

/// Whether a problem with states is that of a part of their rows, beside those of other devices: passes of
/// all the devices then begin together, when the pass before is done everywhere.
bool is_partial(const StreamProblem& problem);

/// A pass over all rows, or the part that the problem says. `chunk` and `steps` as they are; see
/// StreamScheduler. Throws Error where a pass cannot be made so: the message says why, with the least chunk.
/// Of a part, Carry and Overlap read steps * halo rows beyond each end that is not one of the array (Carry in
/// multiples of its lag), and never work in place; EvenOdd is for all rows only.
StreamPass map_pass(const StreamProblem& problem, index_t chunk);
StreamPass overlap_pass(const StreamProblem& problem, index_t chunk, int steps);
StreamPass carry_pass(const StreamProblem& problem, index_t chunk, int steps);
StreamPass even_odd_pass(const StreamProblem& problem, index_t chunk, int steps);

/// `steps` loops of a sequence in one pass over its arrays, each as far behind the one before as it reads
/// what that writes: as carry does it, where the halo is what loops say, and differs from place to place.
/// Throws Error where the rows of a loop fall, or a temporary array is read before it is written. Where
/// `tiles_per_window` is `wrapping`, windows are the rows that a tile needs, and nothing is moved; then a
/// chunk may come and go home in several `pieces`, each a tile: room that one leaves is taken by another, so
/// that buffers hold less than whole chunks that come and go. A `sample` has the first tiles only, to some
/// behind that in which the last step begins; none where these are very many.
StreamPass sequence_pass(const StreamProblem& problem, index_t chunk, int steps, int tiles_per_window = 1,
                         bool sample = false, int pieces = 1);

/// Gives the tiles of a pass what they have to wait for of the pass before it.
void follow(const StreamProblem& problem, const StreamPass& previous, StreamPass& pass);

/// The last stage of tiles that needs the rows of an array of a sequence.
StreamStage last_stage(const StreamProblem& problem, std::size_t array);
/// How many tiles, beside the one that comes, rows of an array are held for in a buffer that wraps round,
/// where `slots` tiles are under way: one comes, one is computed, one goes home. What does not go home is
/// free when it is computed, and what does not come either, when the next one is.
int tiles_before(const StreamProblem& problem, std::size_t array, int slots, int pieces);

/// Rows that a pass over an array goes on by in a buffer that wraps round: whole tiles of its layout.
index_t rows_of_pass(const StreamArray& array);

/// Bytes that a row range takes in a buffer of the device; with a granule in one that wraps round.
index_t buffer_bytes(const StreamArray& array, index_t rows, index_t repeat_granule = 0);
/// Bytes of all buffers of an array whose windows have so many rows.
index_t array_bytes(const StreamArray& array, index_t rows, int slots, index_t repeat_granule);
/// Bytes that all buffers take, and of each array the rows of its largest window. With a granule buffers wrap
/// round: the rows are then those that `slots` tiles need at once, and what else there is room for.
index_t device_bytes(const StreamProblem& problem, const StreamPass& pass, int slots,
                     std::vector<index_t>& window_rows, index_t repeat_granule = 0, int pieces = 1);
StreamBytes bytes_of(const StreamProblem& problem, const StreamPass& pass);

/// The plan for a device of which `budget` bytes may be used. Throws OutOfMemory where not even the smallest
/// tiles fit, saying what would.
StreamPlan make_plan(const StreamProblem& problem, index_t budget, const StreamRates& rates,
                     const StreamOptions& options);
/// The time that a plan takes: its stages on three engines, one after the other on each.
double predict(const StreamProblem& problem, const StreamPlan& plan, const StreamRates& rates);
/// How errors of a launch begin: what it is, and its label, or else its arrays.
std::string launch_name(const char* what, const StreamProblem& problem);
/// For people: the plan in some lines.
std::string describe(const StreamProblem& problem, const StreamPlan& plan);

}  // namespace strata::inline STRATA_ABI::detail
