// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_chunks.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

using Use = StreamArray::Use;

// The largest chunk of a sequence up to `high` whose buffers fit, about, from `least` on, or 0. Their bytes
// grow with the chunk by `bytes_per_row`, about, beside those of the rows by which loops lag. Samples are
// slow to make, of small chunks most of all: few are made, from the largest chunk down.
index_t largest_chunk_of_sequence(const StreamProblem& problem, int steps, const Sharing& sharing,
                                  index_t least, index_t high, double bytes_per_row, index_t budget) {
  const auto bytes_with = [&](index_t chunk) {
    std::vector<index_t> rows;
    const StreamPass sample =
        sequence_pass(problem, chunk, steps, sharing.tiles_per_window, true, sharing.pieces);
    if (sample.tiles.empty()) return std::numeric_limits<index_t>::max();
    return device_bytes(problem, sample, sharing.slots, rows, sharing.repeat_granule, sharing.pieces);
  };
  index_t high_bytes = bytes_with(high);
  if (high_bytes <= budget) return high;
  const index_t smallest = std::max(least, high / 64 / problem.align * problem.align);
  index_t low = 0, low_bytes = 0;
  for (;;) {
    const index_t step = std::max(problem.align, low / 64);
    if (low > 0 && high - low <= step) return low;
    // By a line, through the two where they are known.
    index_t guess = (low + high) / 2;
    if (low > 0 && high_bytes < std::numeric_limits<index_t>::max())
      bytes_per_row = static_cast<double>(high_bytes - low_bytes) / static_cast<double>(high - low);
    if (bytes_per_row > 0 && high_bytes < std::numeric_limits<index_t>::max())
      guess = low > 0 ? low + static_cast<index_t>(static_cast<double>(budget - low_bytes) / bytes_per_row)
                      : high - static_cast<index_t>(static_cast<double>(high_bytes - budget) / bytes_per_row);
    if (low > 0 && guess - low < step) return low;
    guess = std::min(guess, high - step) / problem.align * problem.align;
    if (low == 0 && guess <= smallest) {
      if (bytes_with(smallest) <= budget) guess = smallest;
      else return smallest > least && bytes_with(least) <= budget ? least : 0;
    }
    if (guess <= low) return low;
    const index_t bytes = bytes_with(guess);
    if (bytes <= budget) {
      low = guess;
      low_bytes = bytes;
    } else {
      high = guess;
      high_bytes = bytes;
    }
  }
}

}  // namespace

StreamPass make_pass(const StreamProblem& problem, StreamScheduler scheduler, index_t chunk, int steps,
                     int tiles_per_window, int pieces) {
  if (problem.is_sequence()) return sequence_pass(problem, chunk, steps, tiles_per_window, false, pieces);
  switch (scheduler) {
    case StreamScheduler::Overlap:
    case StreamScheduler::Naive:
      return overlap_pass(problem, chunk, steps);
    case StreamScheduler::EvenOdd:
      return even_odd_pass(problem, chunk, steps);
    case StreamScheduler::Carry:
      return carry_pass(problem, chunk, steps);
    case StreamScheduler::Automatic:
      break;
  }
  return map_pass(problem, chunk);
}

index_t all_rows(const StreamProblem& problem) {
  for (const StreamArray& array : problem.arrays)
    if (array.use == Use::State)
      return problem.part.end < problem.part.begin ? array.rows : rows_of(problem.part);
  return rows_of(problem.work);
}

bool is_ring(const StreamProblem& problem) {
  return std::any_of(problem.arrays.begin(), problem.arrays.end(),
                     [](const StreamArray& a) { return a.use == Use::State && a.cyclic; });
}
index_t halo_of(const StreamProblem& problem) {
  index_t halo = problem.align;
  for (const StreamArray& array : problem.arrays)
    if (array.use == Use::State) halo = std::max({halo, array.left, array.right});
  return halo;
}

StreamProblem shortened(const StreamProblem& problem, index_t rows_wanted) {
  const index_t rows = all_rows(problem);
  if (rows <= rows_wanted || problem.is_sequence() ||
      !std::all_of(problem.arrays.begin(), problem.arrays.end(),
                   [](const StreamArray& a) { return a.regular; }))
    return problem;
  StreamProblem part = problem;
  ResidentRows all = problem.work;
  for (const StreamArray& array : problem.arrays)
    if (array.use == Use::State)
      all = problem.part.end < problem.part.begin ? ResidentRows{0, array.rows} : problem.part;
  const index_t begin = std::clamp(problem.work.begin, all.begin, all.end);
  const index_t end = std::clamp(problem.work.end, begin, all.end);
  const double kept = static_cast<double>(rows_wanted) / static_cast<double>(rows);
  const auto whole_tiles = [&](index_t count) {
    return std::max<index_t>(count, 0) / problem.align * problem.align;
  };
  const auto taken = [&](index_t count) {
    return whole_tiles(count - static_cast<index_t>(std::ceil(static_cast<double>(count) * kept)));
  };
  const index_t before = taken(begin - all.begin), after = taken(all.end - end);
  const index_t among =
      std::min(whole_tiles(rows - rows_wanted - before - after), whole_tiles(end - begin - rows_wanted / 2));
  const index_t less = before + among + after;
  if (problem.work.begin > all.begin) part.work.begin -= before;
  if (problem.work.end > all.begin) part.work.end -= before + among;
  if (part.part.end >= part.part.begin) part.part.end -= less;
  for (StreamArray& array : part.arrays)
    if (array.use != Use::Whole) array.rows = std::max<index_t>(array.rows - less, 0);
  return part;
}
index_t largest_chunk(const StreamProblem& problem, StreamScheduler scheduler, int steps,
                      const Sharing& sharing, index_t most, index_t budget) {
  const int slots = sharing.slots;
  const index_t halo = halo_of(problem);
  const auto fits = [&](index_t chunk) {
    std::vector<index_t> rows;
    // A whole number of tiles, so that the last one is no smaller than others.
    const StreamProblem part = shortened(problem, (9 + 4 * steps * halo / chunk) * chunk);
    return device_bytes(part, make_pass(part, scheduler, chunk, steps), slots, rows) <= budget;
  };
  index_t least = problem.align;
  if (scheduler == StreamScheduler::EvenOdd) least = std::max(least, steps * halo + 1);
  most = std::max(most, least);  // few rows are one tile, however many steps it makes
  // A window is at least a piece of a chunk: a first bound without making passes of many small tiles.
  index_t bytes_per_row = 0, whole = 0;
  for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
    const StreamArray& array = problem.arrays[a];
    const int tiles = sharing.repeat_granule > 0
                          ? std::max(sharing.pieces, 1 + tiles_before(problem, a, slots, sharing.pieces))
                          : slots;
    if (array.use == Use::Whole) whole += buffer_bytes(array, array.rows);
    else if (array.use == Use::State) bytes_per_row += 2 * array.row_bytes * tiles;
    else if (array.rows >= rows_of(problem.work)) bytes_per_row += array.row_bytes * tiles;
  }
  if (whole > budget) return 0;
  index_t high = most;
  if (bytes_per_row > 0) high = std::min(high, (budget - whole) / bytes_per_row * sharing.pieces);
  high -= high % problem.align;
  if (problem.is_sequence()) {
    if (high < least && all_rows(problem) >= least) return 0;
    return largest_chunk_of_sequence(problem, steps, sharing, least, std::max(high, least),
                                     static_cast<double>(bytes_per_row) / sharing.pieces, budget);
  }
  if (high < least) return all_rows(problem) < least && fits(least) ? least : 0;
  if (fits(high)) return high;
  // Passes get long where chunks are small: 1/1024 of the largest is the least that is tried before the
  // least.
  index_t low = std::max(least, high / 1024 / problem.align * problem.align);
  if (!fits(low)) return low > least && fits(least) ? least : 0;
  while (high - low > std::max(problem.align, low / 64)) {
    index_t middle = low + (high - low) / 2;
    middle -= middle % problem.align;
    if (middle <= low) break;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
