// How a launch over a box is cut into blocks and threads: arithmetic only, without a GPU.
//
// Axes are the dimensions of the box in the order of threads: neighbouring threads have neighbouring indices
// of axis 0. Axes 0 and 1 are x and y of block and grid, z carries what axes are left. An axis along which
// threads march is none of these: it is cut into pieces, whose numbers z carries, too, the slowest part.
// Where none was asked for, threads walk over a few items of the last axis.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>
#include <strata/devices/cuda/launch/launch.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Whether axis 0 is the last dimension: a property of the body (kernel.hpp).
template <class Body>
constexpr bool is_last_index_fastest() {
  if constexpr (requires { Body::last_index_fastest; }) return Body::last_index_fastest;
  else return false;
}

/// Of BoxWish::marching.
inline constexpr int no_axis = -1;
/// Threads of a block along axis 0.
inline constexpr index_t usual_row = 64;
/// Items of a walk are counted in 32 bits.
inline constexpr index_t longest_march = index_t{1} << 30;

/// A box of at least one item, and the options for its blocks; arrays by axis.
struct BoxWish {
  int rank;
  const index_t* extent;
  const index_t* tile;       // threads of a block along the axis, the piece of a marched one; 0: chosen here
  int marching = no_axis;    // the axis along which a thread walks
  int block_size = 0;        // threads; 0: chosen here
  index_t most_threads;      // that a block of the kernel can have
  index_t resident_threads;  // that the device holds at a time
  index_t row = usual_row;   // threads of a block along axis 0, where nothing else says how many
  bool may_walk = true;      // where no axis is marched
};

struct BoxPlan {
  CudaGrid grid;
  index_t piece;   // items along the marched axis, or the last one, that a thread takes
  index_t pieces;  // of that axis
  index_t rows;    // threads that y needs
  index_t depth;   // threads that z needs
  bool is_exact;   // the grid covers the box: no thread has to go on
};

/// The axis that x (0), y (1) or a further part of the grid (2 and more) stands for.
constexpr int axis_of_grid(int part, int marching) {
  return marching != no_axis && part >= marching ? part + 1 : part;
}

// Rows that begin in the middle of a line of memory, as those of a stencil do, leave the first threads idle,
// so that the warps' accesses begin at whole lines: index 0 of a row mostly lies at one. It made a 7-point
// stencil of 510^3 points 3 % faster in double, and 6 and 12 % marching in double and float, on an H100. Rows
// that would need another block for it, or are short, begin at once.
constexpr index_t idle_threads(index_t lower, index_t extent, index_t tile, index_t usual = usual_row) {
  constexpr index_t line = 32, short_row = 128;
  const index_t idle = lower > 0 ? lower % line : 0, row = tile > 0 ? tile : usual;
  const bool fits = (extent + idle + row - 1) / row == (extent + row - 1) / row;
  return extent >= short_row && fits ? idle : 0;
}

// Walks of 8 items, shorter ones where the device would not be filled. Longer ones share more loads, but the
// planes that neighbouring blocks walk through then leave the caches: 8 was the fastest length for a 7-point
// stencil of 510^3 points on an H200.
inline constexpr int usual_march = 8;
constexpr index_t piece_of_march(index_t extent, index_t columns, index_t resident_threads) {
  constexpr index_t longest = usual_march;
  const index_t threads = resident_threads > 0 ? resident_threads : 1;
  const double for_one =
      static_cast<double>(extent) * static_cast<double>(columns) / static_cast<double>(threads);
  const index_t piece = for_one >= longest ? longest : for_one < 1 ? 1 : static_cast<index_t>(for_one);
  // Pieces of one length.
  const index_t pieces = (extent + piece - 1) / piece;
  return (extent + pieces - 1) / pieces;
}

// Threads that were not asked to march walk over 4 items where there are four times as many walks as threads
// run at a time: positions and offsets are computed once for all, and elements that neighbours share stay in
// the caches. On an H200 a 7-point stencil was 1.37 times as fast in float and 1.03 times in double as with
// an item a thread. Against walks of 1 item by the same loop, 4 were 1.2 to 2.0 times as fast in
// stencils, 1.05 to 1.45 in copies, 0.95 in a transposition of doubles; 8 were 0.68 in that. Fewer walks
// would leave the device idle at the end of a launch. Items that read a row each do not gain: averages of
// rows of 8 took 1.02 times as long.
inline constexpr int usual_walk = 4;
constexpr bool fills_device(index_t piece, double items_of_thread) {
  constexpr index_t rounds = 4;
  return items_of_thread >= static_cast<double>(piece * rounds);
}
constexpr index_t piece_by_default(index_t extent, double items_of_thread) {
  index_t piece = 1;
  while (piece < usual_walk && fills_device(2 * piece, items_of_thread)) piece *= 2;
  const index_t pieces = (extent + piece - 1) / piece;
  return (extent + pieces - 1) / pieces;
}

/// Threads of a block where none were asked for.
inline constexpr int usual_box_threads = 256;

// ---- marches whose items are one piece of code, by the registers that a thread then needs

/// Launch bounds for them: so many blocks of usual_box_threads, and 80 registers a thread.
inline constexpr int march_blocks = 3;
/// Marches that need more than that are no faster for these bounds, and not taken by default.
inline constexpr int most_march_registers = 64;

// Without bounds compilers save registers and load later: best where a multiprocessor then holds as many
// threads as it can. Else more loads are in flight with 80 of them: on an H200 stencils of 25 and 27 points
// over 504^3 floats take 0.77 and 0.99 of the time so, and of 5 points of a square of doubles 0.97; stencils
// of 25 and 27 points of doubles, which need more than 64, 1.00 and 1.04.
constexpr bool gains_by_march_bounds(int rank, int registers) {
  return rank == 2 || (registers > light_registers && registers <= most_march_registers);
}

// Marches of 8 in place of walks of 4, over boxes of three and more dimensions: of kernels that read much for
// each item, so that items share it, where there are four times as many marches as threads run at a time, and
// as the extent of the slowest axis allows pieces of 8. On an H200 stencils of 7 points take 0.98 of the time
// so, of 25 and 27 points of floats 0.92 and 0.84. What mostly moves data is slower; and of what needs many
// registers (25 and 27 points of doubles: 1.12 and 0.94) it depends.
constexpr bool marches_by_default(index_t extent, double items_of_thread, int registers_of_walk,
                                  int registers_of_march) {
  const index_t pieces = (extent + usual_march - 1) / usual_march;
  return pieces > 0 && (extent + pieces - 1) / pieces == usual_march &&
         fills_device(usual_march, items_of_thread) && registers_of_walk > light_registers &&
         registers_of_march <= most_march_registers;
}

constexpr BoxPlan plan_box(const BoxWish& wish) {
  constexpr index_t usual_threads = usual_box_threads;
  constexpr index_t most_in_block[3] = {1024, 1024, 64};
  constexpr index_t most_in_grid[3] = {(index_t{1} << 31) - 1, 65535, 65535};
  BoxPlan plan{{{1, 1, 1}, {1, 1, 1}, 0}, 1, 1, 1, 1, true};
  const int parts = wish.marching == no_axis ? wish.rank : wish.rank - 1;

  if (wish.marching == no_axis) {
    const int last = wish.rank - 1;
    double items = 1;
    bool is_tiled = false;
    for (int a = 0; a < wish.rank; ++a) {
      items *= static_cast<double>(wish.extent[a]);
      is_tiled = is_tiled || wish.tile[a] > 0;
    }
    const double threads = wish.resident_threads > 0 ? static_cast<double>(wish.resident_threads) : 1;
    if (!is_tiled && wish.may_walk) plan.piece = piece_by_default(wish.extent[last], items / threads);
    plan.pieces = (wish.extent[last] + plan.piece - 1) / plan.piece;
  }

  index_t count[3] = {1, 1, 1}, tile[3] = {0, 0, 0};
  for (int p = 0; p < parts; ++p) {
    const int axis = axis_of_grid(p, wish.marching);
    const bool walks = wish.marching == no_axis && axis == wish.rank - 1;
    count[p < 2 ? p : 2] *= walks ? plan.pieces : wish.extent[axis];
    if (p < 3) tile[p] = wish.tile[axis];
  }
  if (wish.marching != no_axis) {
    const index_t extent = wish.extent[wish.marching], asked = wish.tile[wish.marching];
    const index_t longest = extent < longest_march ? extent : longest_march;
    plan.piece = asked <= 0 ? piece_of_march(extent, count[0] * count[1] * count[2], wish.resident_threads)
                 : asked < longest ? asked
                                   : longest;
    plan.pieces = (extent + plan.piece - 1) / plan.piece;
    count[2] *= plan.pieces;
  }
  plan.rows = count[1];
  plan.depth = count[2];

  // Rows of `wish.row` threads, as many as make up a block; where the box is thin, the next part gets the
  // remaining threads.
  index_t left = wish.most_threads;
  index_t wished = wish.block_size > 0 ? wish.block_size : usual_threads;
  if (wished > left) wished = left;
  for (int p = 0; p < 3; ++p) {
    index_t threads = tile[p] > 0 ? tile[p] : p == 0 && wished > wish.row && parts > 1 ? wish.row : wished;
    if (threads > most_in_block[p]) threads = most_in_block[p];
    if (threads > left) threads = left;
    if (threads > count[p]) threads = count[p];
    left /= threads;
    wished = wished > threads ? wished / threads : 1;
    index_t blocks = (count[p] + threads - 1) / threads;
    if (blocks > most_in_grid[p]) {
      blocks = most_in_grid[p];
      plan.is_exact = false;
    }
    plan.grid.block[p] = static_cast<unsigned>(threads);
    plan.grid.grid[p] = static_cast<unsigned>(blocks);
  }
  return plan;
}

}  // namespace strata::inline STRATA_ABI::detail
