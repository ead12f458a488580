// StreamMeasures: how long the kernels of a run take, for the plans of later runs.
//
// Figures are kept by the name of a kernel, with the device and the bytes of rows: the seconds of a row and,
// of sequences, of a launch beside its rows. Of a run some tiles are measured, by events on the compute queue
// around their launches:
//
//   one kernel     the first four tiles after the first one
//   a sequence     a tile in the middle of the first pass, launch by launch; the next one, as a whole; and of
//                  those after it, the one whose launches are most nearly half as long, as a whole
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include <strata/algorithms/streaming/stream_job.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

class StreamMeasures {
 public:
  /// The job outlives this.
  explicit StreamMeasures(const StreamJob& job) : job_(job) {}

  /// Names later launches `kernel`, loop k of a sequence by the kernel and its number, and puts the known
  /// times of these into the problem.
  void set_kernel(const std::string& kernel, StreamProblem& problem);

  /// Back to the state before any tile; of a sequence, chooses tiles of the plan's first pass.
  void restart();
  /// Around the launches of tile `number`, which is one of `tiles` of its pass, and around each of them.
  void begin_tile(long number, const StreamTile& tile, std::size_t tiles);
  void begin_launch();
  void end_launch(const StreamLaunch& launch);
  void end_tile();

  /// After the end of all launches: keeps the measured times.
  void learn() const;

 private:
  struct Sample {
    Ref<EventState> begin, end;
    index_t rows;
    std::size_t loop;  // of a sequence, else 0
  };
  /// Of a sequence: a tile that is measured as a whole.
  struct WholeTile {
    long tile = -1;  // none
    Ref<EventState> begin, end;
    std::vector<index_t> rows, launches;  // of each loop
  };
  /// The time of rows that are measured one by one.
  struct RowTime {
    double seconds = 0;
    index_t rows = 0;
    double of_row() const { return rows > 0 ? seconds / static_cast<double>(rows) : 0; }
  };
  /// The measurement of the tile that is being enqueued.
  struct Current {
    bool timed = false;
    WholeTile* whole = nullptr;
    Ref<EventState> begin;
    index_t rows = 0;
  };

  std::string name_of_loop(std::size_t loop) const;
  std::string name_of_launches() const;
  double launch_seconds() const;
  void choose_tiles(const StreamPass& pass);
  void learn_kernel() const;
  void learn_loops() const;
  std::vector<RowTime> row_times(double launch) const;

  const StreamJob& job_;
  std::string kernel_;
  std::vector<Sample> samples_;
  long one_by_one_ = -1;  // of a sequence: the tile whose launches are measured; -1: none
  std::array<WholeTile, 2> wholes_;
  Current current_;
};

}  // namespace strata::inline STRATA_ABI::detail::streaming
