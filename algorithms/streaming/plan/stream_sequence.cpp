// Passes of sequences: loops over arrays that are changed in place, several of them done each time that rows
// are on the device.
//
// Each of the pass's loops ("steps", in the order of the program) has a front: the work items before it are
// done. A tile brings rows for some more items of the first step, and then moves every front as far as the
// steps before it allow:
//
//   rows that a step reads are written:      rows_of(items).end <= front of the last earlier step writing it
//   rows that it writes are read no more:    front <= first row that items of earlier steps still read
//
// Rows are on the device from when the first step touches them until the last one has passed: at one place in
// ring buffers. Without these, rows that tiles share are moved from window to window; several tiles may share
// a window, for fewer moves, and less memory than with a window each.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

using Rows = ResidentRows;
using LoopUse = StreamLoop::Use;

constexpr index_t no_row = std::numeric_limits<index_t>::max();

index_t whole_multiple(index_t n, index_t to) { return n / to * to; }
index_t next_multiple(index_t n, index_t to) { return whole_multiple(n + to - 1, to); }

class SequencePass {
 public:
  SequencePass(const StreamProblem& problem, index_t chunk, int steps, int tiles_per_window, int pieces)
      : problem_(problem),
        wraps_(tiles_per_window == wrapping),
        tiles_per_window_(static_cast<std::size_t>(tiles_per_window)),
        pieces_(pieces),
        chunk_(next_multiple(std::max<index_t>(chunk, 1), problem.align)) {
    pass_.steps = steps;
    for (int k = 1; k <= steps; ++k) steps_.push_back(make_step(k));
    for (std::size_t a = 0; a < problem.arrays.size(); ++a) fronts_.push_back(make_front(a));
  }

  StreamPass make() {
    for (bool done = steps_.empty(); !done; done = is_done()) add_tile();
    return static_cast<StreamPass&&>(pass_);
  }
  StreamPass make_sample() {
    constexpr std::size_t most_launches = 200000;
    constexpr int extra_tiles = 12;
    bool done = steps_.empty();
    for (int extra = 0; !done && extra < extra_tiles; done = is_done()) {
      if (pass_.tiles.size() / static_cast<std::size_t>(pieces_) * steps_.size() > most_launches) return {};
      add_tile();
      const Step& last = steps_.back();
      if (piece_ == pieces_ && last.front > last.loop->work.begin) ++extra;
    }
    return static_cast<StreamPass&&>(pass_);
  }

 private:
  // A front may not pass what others still need, or have not made.
  struct Limit {
    int step;
    const LoopUse* read;   // by this step of what `step` writes
    const LoopUse* other;  // rows that `step` still reads; both null: rows that it writes
  };
  struct Step {
    const StreamLoop* loop;
    index_t front, last_advance;
    std::vector<Limit> limits;
    bool is_done() const { return front >= loop->work.end; }
  };
  struct Front {
    index_t begin, end;  // rows that are on the device, after the last tile
    bool comes, goes;    // from and to the host
    std::vector<std::pair<int, const LoopUse*>> uses;
  };

  bool is_done() const {
    return std::all_of(steps_.begin(), steps_.end(), [](const Step& s) { return s.is_done(); });
  }

  Step make_step(int number) {
    const StreamLoop& loop = problem_.loop_of(number);
    Step step{&loop, loop.work.begin, 0, {}};
    for (const LoopUse& use : loop.uses) {
      if (problem_.arrays[static_cast<std::size_t>(use.array)].use == StreamArray::Use::Whole) continue;
      // Back to the last writer of all rows, or to this loop's last time: what they waited for holds for what
      // comes after them.
      const int oldest = std::max(1, number - static_cast<int>(problem_.loops.size()));
      for (int k = number - 1; k >= oldest; --k) {
        bool found = false;
        for (const LoopUse& other : steps_[static_cast<std::size_t>(k - 1)].loop->uses) {
          if (other.array != use.array) continue;
          if (writes(other.mode)) {
            step.limits.push_back({k - 1, use.rows_of ? &use : nullptr, nullptr});
            const Rows work = steps_[static_cast<std::size_t>(k - 1)].loop->work;
            found = work.begin <= 0 && work.end >= problem_.arrays[static_cast<std::size_t>(use.array)].rows;
          } else if (writes(use.mode)) {
            step.limits.push_back({k - 1, nullptr, &other});
          }
        }
        if (found) break;
      }
    }
    return step;
  }

  // Rows that the kernel leaves out keep their values, which others may read.
  static bool covers(Rows work, const StreamArray& array) {
    return array.temporary || (work.begin <= 0 && work.end >= array.rows);
  }

  Front make_front(std::size_t a) {
    const StreamArray& array = problem_.arrays[a];
    Front front{0, 0, false, false, {}};
    if (array.use == StreamArray::Use::Whole) return front;
    bool touched = false;
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      bool reads_here = false, uses_here = false;
      for (const LoopUse& use : steps_[k].loop->uses) {
        if (static_cast<std::size_t>(use.array) != a) continue;
        front.uses.push_back({static_cast<int>(k), &use});
        front.goes = front.goes || writes(use.mode);
        reads_here = reads_here || reads(use.mode);
        uses_here = true;
      }
      if (uses_here && !touched) front.comes = reads_here || !covers(steps_[k].loop->work, array);
      touched = touched || uses_here;
    }
    if (array.temporary) {
      if (front.comes)
        throw Error(launch_name("streaming", problem_) + ": \"" + array.label +
                    "\" is temporary, but a pass reads it before it writes it; begin the sequence with the "
                    "loop that writes it, or do not declare it temporary");
      front.goes = false;
    }
    front.begin = front.end = first_needed(front, array);
    return front;
  }

  // The first row that is still going to be touched.
  index_t first_needed(const Front& front, const StreamArray& array) const {
    index_t first = no_row;
    for (const auto& [k, use] : front.uses) {
      const Step& step = steps_[static_cast<std::size_t>(k)];
      if (step.is_done()) continue;
      first = std::min(first, use->rows_of ? use->rows_of({step.front, step.front + 1}).begin : step.front);
    }
    if (first == no_row) return array.rows;
    return whole_multiple(std::clamp<index_t>(first, 0, array.rows), array.align);
  }

  index_t end_of_limits(std::size_t k) const {
    const Step& step = steps_[k];
    index_t end = step.loop->work.end;
    for (const Limit& limit : step.limits) {
      const Step& other = steps_[static_cast<std::size_t>(limit.step)];
      if (other.is_done() || limit.read != nullptr) continue;
      end = std::min(end, limit.other != nullptr && limit.other->rows_of
                              ? limit.other->rows_of({other.front, other.front + 1}).begin
                              : other.front);
    }
    for (const Limit& limit : step.limits) {
      const Step& other = steps_[static_cast<std::size_t>(limit.step)];
      if (limit.read != nullptr && !other.is_done()) end = furthest(step, *limit.read, other.front, end);
    }
    return end;
  }
  // Of a step that waits for none: as far as the first one is.
  index_t beside_first(const Step& step) const {
    const Step& first = steps_.front();
    if (first.is_done()) return step.loop->work.end;
    const double part = static_cast<double>(first.front - first.loop->work.begin) /
                        static_cast<double>(rows_of(first.loop->work));
    return step.loop->work.begin + static_cast<index_t>(part * static_cast<double>(rows_of(step.loop->work)));
  }
  // The last front up to `end` before which items read rows before `row` only.
  index_t furthest(const Step& step, const LoopUse& use, index_t row, index_t end) const {
    const auto allowed = [&](index_t front) { return use.rows_of({step.front, front}).end <= row; };
    if (end <= step.front || allowed(end)) return end;
    // About as far as last time.
    index_t low = step.front, high = end, stride = std::max(step.last_advance, problem_.align);
    for (; low + stride < high; stride *= 2) {
      if (!allowed(low + stride)) {
        high = low + stride;
        break;
      }
      low += stride;
    }
    while (high - low > 1) {
      const index_t middle = low + (high - low) / 2;
      (allowed(middle) ? low : high) = middle;
    }
    return low;
  }

  void add_tile() {
    pass_.tiles.emplace_back();
    StreamTile& tile = pass_.tiles.back();
    const std::vector<Front> before = fronts_;
    tile.same_window = !wraps_ && (pass_.tiles.size() - 1) % tiles_per_window_ != 0;
    if (!tile.same_window) {
      window_begin_.clear();
      for (const Front& front : fronts_) window_begin_.push_back(front.begin);
    }
    piece_ = piece_ % pieces_ + 1;
    if (piece_ == pieces_) compute(tile);
    else bring_piece();
    for (std::size_t a = 0; a < fronts_.size(); ++a) end_tile(tile, a, before[a]);
  }
  void compute(StreamTile& tile) {
    for (std::size_t k = 0; k < steps_.size(); ++k) {
      Step& step = steps_[k];
      const index_t work_end = step.loop->work.end;
      index_t end = end_of_limits(k);
      if (k == 0) end = std::min(end, whole_multiple(step.front, problem_.align) + chunk_);
      else if (step.limits.empty()) end = std::min(end, beside_first(step));
      if (end < work_end) end = whole_multiple(std::max<index_t>(end, 0), problem_.align);
      if (end <= step.front) continue;
      tile.launches.push_back({static_cast<int>(k) + 1, {step.front, end}, 0});
      for (const LoopUse& use : step.loop->uses) touch(use, {step.front, end});
      step.last_advance = end - step.front;
      step.front = end;
    }
  }
  // Uploads the rows of the chunk's first pieces that the first step is going to need.
  void bring_piece() {
    const Step& first = steps_.front();
    const index_t begin = whole_multiple(first.front, problem_.align);
    const index_t end =
        std::min(first.loop->work.end, begin + whole_multiple(chunk_ * piece_ / pieces_, problem_.align));
    if (end <= first.front) return;
    for (const LoopUse& use : first.loop->uses)
      if (fronts_[static_cast<std::size_t>(use.array)].comes) touch(use, {first.front, end});
  }
  void touch(const LoopUse& use, Rows items) {
    const StreamArray& array = problem_.arrays[static_cast<std::size_t>(use.array)];
    if (array.use == StreamArray::Use::Whole) return;
    Front& front = fronts_[static_cast<std::size_t>(use.array)];
    Rows rows = use.rows_of ? use.rows_of(items) : items;
    rows = {std::clamp<index_t>(rows.begin, 0, array.rows), std::clamp<index_t>(rows.end, 0, array.rows)};
    if (rows_of(rows) == 0) return;
    if (rows.begin < front.begin)
      throw Error(launch_name("streaming", problem_) + ": rows(f) of \"" + array.label +
                  "\" begin earlier for later work items; in a sequence they may not");
    front.end = std::max(front.end, std::min(next_multiple(rows.end, array.align), array.rows));
  }
  void end_tile(StreamTile& tile, std::size_t a, const Front& before) {
    const StreamArray& array = problem_.arrays[a];
    const int number = static_cast<int>(a);
    Front& front = fronts_[a];
    if (array.use == StreamArray::Use::Whole) {
      tile.windows.push_back({0, array.rows});
      return;
    }
    tile.windows.push_back({window_begin_[a], std::max(window_begin_[a], front.end)});
    if (before.end > before.begin && !tile.same_window && !wraps_)
      tile.moves.push_back({number, true, 0, 0, {before.begin, before.end}});
    if (front.comes && front.end > before.end)
      tile.uploads.push_back({number, 0, 0, {std::max(before.begin, before.end), front.end}, 0});
    index_t needed = std::min(first_needed(front, array), front.end);
    // Rows that are done with are copied to the host in this tile and those before the next that computes.
    if (const int tiles = is_done() ? 1 : pieces_ - piece_ % pieces_; front.goes && tiles > 1)
      needed = before.begin +
               whole_multiple((needed - before.begin) / tiles, std::lcm(array.align, problem_.align));
    if (front.goes && needed > before.begin)
      tile.downloads.push_back({number, 0, 0, {before.begin, needed}, 0});
    front.begin = std::max(front.begin, needed);
    front.end = std::max(front.end, front.begin);
  }

  const StreamProblem& problem_;
  const bool wraps_;
  const std::size_t tiles_per_window_;
  const int pieces_;
  int piece_ = 0;  // of the tile that was made last, from 1
  const index_t chunk_;
  StreamPass pass_;
  std::vector<Step> steps_;
  std::vector<Front> fronts_;
  std::vector<index_t> window_begin_;  // of each array
};

}  // namespace

StreamPass sequence_pass(const StreamProblem& problem, index_t chunk, int steps, int tiles_per_window,
                         bool sample, int pieces) {
  SequencePass pass(problem, chunk, steps, tiles_per_window, pieces);
  return sample ? pass.make_sample() : pass.make();
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
