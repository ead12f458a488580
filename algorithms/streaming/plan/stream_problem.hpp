// StreamProblem: the input of a plan as data: the arrays, work items and steps of a streamed launch, and the
// user's options. stream_plan.hpp makes a plan of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/access_mode.hpp>
#include <strata/core/function.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI {

/// How the steps of an iterated launch are computed over arrays that the device cannot hold. With t steps a
/// pass, halo h and R rows a tile, the formulas give the rows copied for each row of the array.
enum class StreamScheduler : unsigned char {
  Automatic,  ///< the fastest by the model
  Naive,      ///< one step a pass: 1 + 2h/R in, 1 out
  Overlap,    ///< t steps on tiles with th more rows on both sides, computed twice: 1 + 2th/R in, 1 out
  EvenOdd,  ///< shrinking and growing tiles in turn, nothing computed twice: 1 + (2th+h)/R in, 1 + (2th-h)/R
            ///< out
  Carry     ///< each step lags the previous one by h rows; 1 in, 1 out, in place
};
/// "carry" and the like.
const char* name_of(StreamScheduler scheduler);

namespace detail::streaming {

/// One array of a streamed launch, as plans see it.
struct StreamArray {
  enum class Use : unsigned char {
    Rows,   // a tile touches rows_of(work items) of it
    Whole,  // is on the device as a whole, as long as the launch lasts
    State   // old and new values; a work item reads rows around its own of the old, and writes its own of the
            // new
  };
  std::string label;
  Use use = Use::Rows;
  AccessMode mode = AccessMode::In;  // not of State
  index_t rows = 0;                  // of the array
  index_t row_bytes = 0;
  index_t align = 1;                             // rows that lie together: tiles of the layout
  Function<ResidentRows(ResidentRows)> rows_of;  // of Rows: not cut to the array where cyclic
  index_t left = 0, right = 0;                   // of State: rows read before and after
  bool cyclic = false;                           // rows beyond the ends are those of the other end
  bool regular = true;                           // rows_of is a halo: all tiles have windows of one size
  bool keeps = false;      // of State: elements that the kernel leaves out keep their values
  bool temporary = false;  // of a sequence: written before it is read, not needed after it
  bool used = true;        // of a sequence: by a loop of the run
};

/// A loop of a sequence: a kernel over its own work items. It writes the rows of its work items, and reads
/// rows that neither begin nor end earlier for later items.
struct StreamLoop {
  struct Use {
    int array;
    AccessMode mode;
    Function<ResidentRows(ResidentRows)> rows_of;  // none: the rows of the work items
  };
  std::string label;
  ResidentRows work{0, 0};
  std::vector<Use> uses;
  double seconds_per_row = 0;  // 0: not known
};

struct StreamProblem {
  std::string label;
  ResidentRows work{0, 0};  // left-most indices of work items; of a sequence, those of its first loop
  // Of states: the rows whose new values this plan copies to the host, while other devices do the others;
  // neighbours' rows that the steps need are copied and computed, too. By default all rows.
  ResidentRows part{0, -1};
  int steps = 1;  // more than 1 only with a State; of a sequence, how many loops are done, again and again
  std::vector<StreamArray> arrays;
  index_t align = 1;              // tiles and lags are multiples of this
  double seconds_per_row = 0;     // of the kernel, for one step and one left-most index; 0: not known
  double seconds_per_launch = 0;  // of a sequence, beside those of rows; 0: as of any kernel
  std::vector<StreamLoop> loops;  // of a sequence, which has no states
  int first_loop = 0;             // with which it begins
  bool once = false;              // of states: each step makes each row once, as it also reduces; no overlap

  bool is_sequence() const { return !loops.empty(); }
  bool has_states() const;
  const StreamLoop& loop_of(int step) const;
};

/// What the user says; 0: the model decides.
struct StreamOptions {
  StreamScheduler scheduler = StreamScheduler::Automatic;
  index_t chunk = 0;  // rows a tile
  int slots = 0;
  int steps_per_pass = 0;
  int pieces = 0;  // see StreamPlan
};

}  // namespace detail::streaming
}  // namespace strata::inline STRATA_ABI
