// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_plan.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI {

const char* name_of(StreamScheduler scheduler) {
  switch (scheduler) {
    case StreamScheduler::Naive:
      return "naive";
    case StreamScheduler::Overlap:
      return "overlap";
    case StreamScheduler::EvenOdd:
      return "even_odd";
    case StreamScheduler::Carry:
      return "carry";
    case StreamScheduler::Automatic:
      break;
  }
  return "automatic";
}

namespace detail::streaming {

bool StreamProblem::has_states() const {
  return std::any_of(arrays.begin(), arrays.end(),
                     [](const StreamArray& array) { return array.use == StreamArray::Use::State; });
}
const StreamLoop& StreamProblem::loop_of(int step) const {
  return loops[static_cast<std::size_t>(first_loop + step - 1) % loops.size()];
}

namespace {

using Rows = ResidentRows;

index_t clamp(index_t i, index_t low, index_t high) {
  return std::min(std::max(i, low), std::max(low, high));
}
index_t round_up(index_t n, index_t to) { return floor_div(n + to - 1, to) * to; }

// Calls f(rows of the array, shift) for each part of rows that may lie beyond its ends.
template <class F>
void unwrap(Rows rows, index_t n, bool cyclic, const F& f) {
  if (rows_of(rows) == 0 || n == 0) return;
  if (!cyclic) return f(rows, index_t{0});
  for (index_t turn = floor_div(rows.begin, n); turn * n < rows.end; ++turn)
    f(Rows{std::max(rows.begin - turn * n, index_t{0}), std::min(rows.end - turn * n, n)}, turn * n);
}

// The halo, the extent, the edges and the part of the states of a problem.
struct States {
  index_t rows = 0, left = 0, right = 0;
  bool cyclic = false;
  Rows part{0, 0};  // whose new values are copied to the host
};
States states_of(const StreamProblem& problem) {
  States all;
  const StreamArray* first = nullptr;
  for (const StreamArray& array : problem.arrays) {
    if (array.use != StreamArray::Use::State) continue;
    if (first != nullptr && first->rows != array.rows)
      throw ShapeMismatch("streamed_iterate: \"" + first->label + "\" has " + std::to_string(first->rows) +
                          " rows and \"" + array.label + "\" " + std::to_string(array.rows) +
                          ": all states need as many");
    first = &array;
    all.rows = array.rows;
    all.left = std::max(all.left, array.left);
    all.right = std::max(all.right, array.right);
    all.cyclic = all.cyclic || array.cyclic;
  }
  if (first == nullptr) throw Error("streamed_iterate: no access is a state: declare state(u, halo(1, 1))");
  const bool inside = problem.work.begin >= 0 && problem.work.end <= all.rows;
  const bool whole = problem.work.begin == 0 && problem.work.end == all.rows;
  if (!inside || (all.cyclic && !whole))
    throw ShapeMismatch("streamed_iterate: work items [" + std::to_string(problem.work.begin) + ", " +
                        std::to_string(problem.work.end) + ") of states with " + std::to_string(all.rows) +
                        " rows" +
                        (inside ? ": cyclic edges need all rows" : ": each needs a row of its own"));
  all.part = problem.part.end < problem.part.begin ? Rows{0, all.rows} : both(problem.part, {0, all.rows});
  return all;
}

[[noreturn]] void fail_chunk(const StreamProblem& problem, StreamScheduler scheduler, index_t chunk,
                             int steps, index_t least) {
  throw Error(launch_name("streaming", problem) + ": tiles of " + std::to_string(chunk) +
              " rows are too small for " + std::to_string(steps) + " steps a pass by " + name_of(scheduler) +
              ", which needs " + std::to_string(least) + "; give larger chunks or fewer steps");
}

// Makes the parts of a tile that are alike for all schedulers.
class TileMaker {
 public:
  TileMaker(const StreamProblem& problem, StreamPass& pass) : problem_(problem), pass_(pass) {}

  StreamTile& add() {
    StreamTile tile;
    tile.windows.assign(problem_.arrays.size(), Rows{0, 0});
    pass_.tiles.push_back(static_cast<StreamTile&&>(tile));
    return pass_.tiles.back();
  }
  // Arrays that are no states get what work items of `all_work` need, if they are rows; what the previous
  // tile has of it moves.
  void bring_rows(StreamTile& tile, Rows all_work, bool from_previous) {
    for (std::size_t a = 0; a < problem_.arrays.size(); ++a) {
      const StreamArray& array = problem_.arrays[a];
      if (array.use == StreamArray::Use::Whole) tile.windows[a] = {0, array.rows};
      if (array.use != StreamArray::Use::Rows) continue;
      const Rows need = needed(array, all_work);
      tile.windows[a] = need;
      if (rows_of(need) == 0 || !reads(array.mode)) continue;
      Rows missing = need;
      if (from_previous && pass_.tiles.size() > 1) {
        const Rows before = pass_.tiles[pass_.tiles.size() - 2].windows[a];
        const Rows common = both(need, before);
        // The missing rows are one run: before or after those that are there.
        if (rows_of(common) > 0 && (common.begin == need.begin || common.end == need.end)) {
          tile.moves.push_back({static_cast<int>(a), true, 0, 0, common});
          missing = common.begin == need.begin ? Rows{common.end, need.end} : Rows{need.begin, common.begin};
        }
      }
      upload(tile, a, 0, 0, missing);
    }
  }
  void upload(StreamTile& tile, std::size_t a, int buffer, int side, Rows rows) {
    const StreamArray& array = problem_.arrays[a];
    unwrap(rows, array.rows, array.cyclic, [&](Rows part, index_t shift) {
      tile.uploads.push_back({static_cast<int>(a), buffer, side, part, shift});
    });
  }
  void download(StreamTile& tile, std::size_t a, int buffer, int side, Rows rows) {
    if (rows_of(rows) > 0) tile.downloads.push_back({static_cast<int>(a), buffer, side, rows, 0});
  }
  void move(StreamTile& tile, std::size_t a, bool from_previous, int from_buffer, int buffer, Rows rows) {
    if (rows_of(rows) > 0)
      tile.moves.push_back({static_cast<int>(a), from_previous, from_buffer, buffer, rows});
  }
  // The rows of `rows` that no step writes, and all where a kernel leaves elements out: their values go to
  // the other buffer, too.
  void keep(StreamTile& tile, std::size_t a, Rows rows) {
    const StreamArray& array = problem_.arrays[a];
    if (array.keeps) return move(tile, a, false, 0, 1, rows);
    if (array.cyclic) return;
    move(tile, a, false, 0, 1, both(rows, {0, problem_.work.begin}));
    move(tile, a, false, 0, 1, both(rows, {problem_.work.end, array.rows}));
  }
  void launch(StreamTile& tile, int step, Rows work, bool cyclic, index_t n) {
    unwrap(work, n, cyclic, [&](Rows part, index_t shift) { tile.launches.push_back({step, part, shift}); });
  }
  template <class F>
  void for_states(const F& f) {
    for (std::size_t a = 0; a < problem_.arrays.size(); ++a)
      if (problem_.arrays[a].use == StreamArray::Use::State) f(a);
  }

 private:
  static Rows needed(const StreamArray& array, Rows work) {
    if (rows_of(work) == 0) return {0, 0};
    const Rows rows = array.rows_of(work);
    return array.cyclic ? rows : both(rows, {0, array.rows});
  }

  const StreamProblem& problem_;
  StreamPass& pass_;
};

// Which tile was the last to copy some of certain rows.
class LastToCopy {
 public:
  void add(Rows rows, int tile) {
    copies_.push_back({rows, tile});
    longest_ = std::max(longest_, rows_of(rows));
  }
  void sort() {
    std::sort(copies_.begin(), copies_.end(),
              [](const Copy& a, const Copy& b) { return a.rows.begin < b.rows.begin; });
  }
  /// -1: none.
  int tile(Rows rows) const {
    const auto first = std::lower_bound(copies_.begin(), copies_.end(), rows.begin - longest_,
                                        [](const Copy& copy, index_t row) { return copy.rows.begin < row; });
    int last = -1;
    for (auto at = first; at != copies_.end() && at->rows.begin < rows.end; ++at)
      if (rows_of(both(at->rows, rows)) > 0) last = std::max(last, at->tile);
    return last;
  }

 private:
  struct Copy {
    Rows rows;
    int tile;
  };
  std::vector<Copy> copies_;
  index_t longest_ = 0;
};

}  // namespace

bool is_partial(const StreamProblem& problem) {
  if (problem.part.end < problem.part.begin) return false;
  return std::any_of(problem.arrays.begin(), problem.arrays.end(), [&](const StreamArray& array) {
    return array.use == StreamArray::Use::State && (problem.part.begin > 0 || problem.part.end < array.rows);
  });
}

StreamPass map_pass(const StreamProblem& problem, index_t chunk) {
  StreamPass pass;
  TileMaker make(problem, pass);
  chunk = round_up(std::max<index_t>(chunk, 1), problem.align);
  std::vector<Rows> written(problem.arrays.size(), Rows{0, 0});
  for (index_t begin = problem.work.begin; begin < problem.work.end;) {
    const index_t end = std::min((floor_div(begin, problem.align) * problem.align) + chunk, problem.work.end);
    StreamTile& tile = make.add();
    make.bring_rows(tile, {begin, end}, true);
    for (std::size_t a = 0; a < problem.arrays.size(); ++a) {
      const StreamArray& array = problem.arrays[a];
      if (array.use != StreamArray::Use::Rows || !writes(array.mode)) continue;
      const Rows rows = tile.windows[a];
      if (rows_of(rows) > 0 && rows_of(written[a]) > 0 && rows.begin < written[a].end)
        throw AccessConflict(launch_name("streaming", problem) + ": two slices of the work write row " +
                             std::to_string(rows.begin) + " of \"" + array.label +
                             "\"; let a work item write its own row");
      if (rows_of(rows) > 0) written[a] = rows;
      make.download(tile, a, 0, 0, rows);
    }
    tile.launches.push_back({1, {begin, end}, 0});
    begin = end;
  }
  return pass;
}

StreamPass overlap_pass(const StreamProblem& problem, index_t chunk, int steps) {
  const States states = states_of(problem);
  const index_t n = states.rows, left = states.left, right = states.right;
  StreamPass pass;
  pass.steps = steps;
  pass.in_place = false;
  TileMaker make(problem, pass);
  chunk = round_up(std::max<index_t>(chunk, 1), problem.align);
  const Rows array_rows{0, n};
  for (index_t begin = states.part.begin; begin < states.part.end; begin += chunk) {
    const index_t end = std::min(begin + chunk, states.part.end);
    StreamTile& tile = make.add();
    const auto range = [&](int step, Rows bounds) {
      const Rows rows{begin - (steps - step) * left, end + (steps - step) * right};
      return states.cyclic ? rows : both(rows, bounds);
    };
    make.bring_rows(tile, range(1, problem.work), false);
    make.for_states([&](std::size_t a) {
      const Rows window = range(0, array_rows);
      tile.windows[a] = window;
      make.upload(tile, a, 0, 0, window);
      make.keep(tile, a, window);
      make.download(tile, a, steps % 2, 1, {begin, end});
    });
    for (int step = 1; step <= steps; ++step)
      make.launch(tile, step, range(step, problem.work), states.cyclic, n);
  }
  return pass;
}

// Step k of a tile ends k lags before the rows that were uploaded, and begins where the previous tile ended:
// the rows of step k-1 that it reads there are still in that tile's buffer, which overwrote rows one lag
// further on only.
StreamPass carry_pass(const StreamProblem& problem, index_t chunk, int steps) {
  const States states = states_of(problem);
  const index_t n = states.rows;
  const index_t lag = round_up(std::max({states.left, states.right, index_t{1}}), problem.align);
  StreamPass pass;
  pass.steps = steps;
  const bool all_rows = states.part.begin == 0 && states.part.end == n;
  pass.in_place = !states.cyclic && all_rows;
  TileMaker make(problem, pass);
  chunk = round_up(std::max<index_t>(chunk, 1), problem.align);
  // The pass begins so far before the part, and ends so far after it, that step t has all of it; at the ends
  // of an array that is no ring there is nothing beyond.
  const auto around_part = [&](index_t lags, Rows bounds) {
    const Rows rows{states.part.begin - lags * lag, states.part.end + lags * lag};
    return states.cyclic ? rows : both(rows, bounds);
  };
  const Rows read = around_part(steps, {0, n});
  const auto bounds = [&](int step) {
    const Rows rows = around_part(steps - step, problem.work);
    const index_t nowhere = clamp(rows.begin, problem.work.begin, problem.work.end);
    return rows_of(rows) > 0 ? rows : Rows{nowhere, nowhere};
  };
  const auto step_end = [&](index_t end, int step) {
    const Rows all = bounds(step);
    return end == read.end ? all.end : clamp(end - step * lag, all.begin, all.end);
  };
  index_t out = states.part.begin;
  bool first = true;
  for (index_t begin = read.begin; begin < read.end; first = false) {
    const index_t end = std::min(begin + chunk, read.end);
    StreamTile& tile = make.add();
    const auto range = [&](int step) {
      return Rows{first ? bounds(step).begin : step_end(begin, step), step_end(end, step)};
    };
    Rows touched{0, 0};
    for (int step = steps; step >= 1; --step)
      if (rows_of(range(step)) > 0)
        touched = rows_of(touched) == 0 ? range(step)
                                        : Rows{std::min(touched.begin, range(step).begin),
                                               std::max(touched.end, range(step).end)};
    make.bring_rows(tile, touched, true);
    const index_t out_end =
        end == read.end ? states.part.end : clamp(end - steps * lag, states.part.begin, states.part.end);
    make.for_states([&](std::size_t a) {
      const StreamArray& array = problem.arrays[a];
      const Rows window{std::max(read.begin, begin - steps * lag - states.left), end};
      tile.windows[a] = window;
      make.upload(tile, a, 0, 0, {begin, end});
      if (!first) {
        const Rows old{window.begin, begin};
        make.move(tile, a, true, 0, 0, old);
        if (array.keeps) {
          make.move(tile, a, true, 1, 1, old);
        } else {  // of the other buffer there are the rows of step 1, and those that no step writes
          const index_t known = step_end(begin, 1);
          const index_t begun = bounds(1).begin;
          const index_t since = states.cyclic || begun > problem.work.begin ? begun : window.begin;
          make.move(tile, a, true, 1, 1, both(old, {since, known}));
          if (!states.cyclic)
            make.move(tile, a, true, 1, 1, both(old, {std::max(known, problem.work.end), n}));
        }
      }
      make.keep(tile, a, {begin, end});
      make.download(tile, a, steps % 2, pass.in_place ? 0 : 1, {out, out_end});
    });
    for (int step = 1; step <= steps; ++step) make.launch(tile, step, range(step), states.cyclic, n);
    out = out_end;
    begin = end;
  }
  return pass;
}

// Even tiles shrink by a halo with every step, odd ones then grow between them: they begin with the rows that
// the steps of their neighbours left on both sides, copied by way of the host: buffer t mod 2 in the array of
// results, the other one in that of the previous pass, where those rows are not read again.
StreamPass even_odd_pass(const StreamProblem& problem, index_t chunk, int steps) {
  const States states = states_of(problem);
  const index_t n = states.rows, h = std::max({states.left, states.right, index_t{1}}), th = steps * h;
  StreamPass pass;
  pass.steps = steps;
  pass.in_place = false;
  TileMaker make(problem, pass);
  if (is_partial(problem))
    throw Error(
        launch_name("streaming", problem) +
        ": even_odd goes over all rows of its states, on one device; over several take carry, overlap "
        "or naive");
  if (chunk <= th) fail_chunk(problem, StreamScheduler::EvenOdd, chunk, steps, th + 1);

  std::vector<index_t> cut{0};
  for (index_t at = 0, j = 0; at < n; ++j) {
    at += j % 2 == 0 ? chunk + th : chunk - th;
    // The last tile must not be too short to shrink on both sides, if it is an even one.
    const bool next_is_odd = j % 2 == 0;
    if (at >= n || (!next_is_odd && n - at < 2 * th + 2 * h)) at = n;
    cut.push_back(at);
  }
  const auto tiles = [&] { return static_cast<int>(cut.size()) - 1; };
  // Tiles that are no longer cut for their neighbours' sake are longer; around a ring there are as many even
  // ones.
  if (states.cyclic && tiles() % 2 != 0) {
    if (tiles() == 1) return overlap_pass(problem, n, steps);
    cut.erase(cut.end() - 2);
  }
  const int m = tiles();
  std::vector<int> position(static_cast<std::size_t>(m));
  std::vector<int> order;
  for (const int parity : {0, 1})
    for (int j = parity; j < m; j += 2) {
      position[static_cast<std::size_t>(j)] = static_cast<int>(order.size());
      order.push_back(j);
    }
  const int result = steps % 2;
  for (const int j : order) {
    const index_t begin = cut[static_cast<std::size_t>(j)], end = cut[static_cast<std::size_t>(j) + 1];
    const bool odd = j % 2 != 0;
    const bool left_edge = !states.cyclic && j == 0, right_edge = !states.cyclic && j == m - 1;
    const index_t grow = odd ? 1 : -1;
    const auto range = [&](int step, Rows bounds) {
      const Rows rows{left_edge ? bounds.begin : begin - grow * step * h,
                      right_edge ? bounds.end : end + grow * step * h};
      return states.cyclic ? rows : both(rows, bounds);
    };
    StreamTile& tile = make.add();
    make.bring_rows(tile, odd ? range(steps, problem.work) : range(1, problem.work), false);
    make.for_states([&](std::size_t a) {
      const index_t low = left_edge ? begin : begin - h, high = right_edge ? end : end + h;
      if (odd) {
        tile.windows[a] = {left_edge ? low : low - th, right_edge ? high : high + th};
        make.upload(tile, a, 0, 0, {low, high});
        make.keep(tile, a, {low, high});
        for (const int buffer : {0, 1}) {
          const int side = buffer == result ? 1 : 0;
          if (!left_edge) make.upload(tile, a, buffer, side, {low - th, low});
          if (!right_edge) make.upload(tile, a, buffer, side, {high, high + th});
        }
        unwrap(range(steps, {0, n}), n, states.cyclic, [&](Rows rows, index_t shift) {
          tile.downloads.push_back({static_cast<int>(a), result, 1, rows, shift});
        });
      } else {
        tile.windows[a] = {begin, end};
        make.upload(tile, a, 0, 0, {begin, end});
        make.keep(tile, a, {begin, end});
        const index_t from = left_edge ? begin : begin + h, to = right_edge ? end : end - h;
        make.download(tile, a, result, 1, {from, to});
        if (!left_edge) make.download(tile, a, 1 - result, 0, {from, from + th});
        if (!right_edge) make.download(tile, a, 1 - result, 0, {to - th, to});
      }
    });
    for (int step = 1; step <= steps; ++step)
      make.launch(tile, step, range(step, problem.work), states.cyclic, n);
    if (!odd) continue;
    int last = -1;
    for (const int neighbour : {j - 1, j + 1}) {
      const int k = states.cyclic ? (neighbour + m) % m : neighbour;
      if (k < m) last = std::max(last, position[static_cast<std::size_t>(k)]);
    }
    tile.before_upload.push_back({StreamStage::Download, last, false});
  }
  return pass;
}

void follow(const StreamProblem& problem, const StreamPass& previous, StreamPass& pass) {
  // Of arrays whose rows two passes change, by the side on which `pass` sees them.
  const auto is_shared = [&](const StreamCopy& copy) {
    const StreamArray& array = problem.arrays[static_cast<std::size_t>(copy.array)];
    return array.use == StreamArray::Use::State || (!problem.loops.empty() && writes(array.mode));
  };
  struct Copies {
    LastToCopy of_side[2];
  };
  std::vector<Copies> writers(problem.arrays.size()), readers(problem.arrays.size());
  const int turned = previous.in_place ? 0 : 1;
  for (std::size_t k = 0; k < previous.tiles.size(); ++k) {
    const auto add = [&](std::vector<Copies>& to, const StreamCopy& copy) {
      if (is_shared(copy))
        to[static_cast<std::size_t>(copy.array)].of_side[copy.side ^ turned].add(copy.rows,
                                                                                 static_cast<int>(k));
    };
    for (const StreamCopy& copy : previous.tiles[k].downloads) add(writers, copy);
    for (const StreamCopy& copy : previous.tiles[k].uploads) add(readers, copy);
  }
  for (std::vector<Copies>* const all : {&writers, &readers})
    for (Copies& of_array : *all)
      for (LastToCopy& of_side : of_array.of_side) of_side.sort();
  for (StreamTile& tile : pass.tiles) {
    const auto wait_for_last = [&](const std::vector<Copies>& others, const std::vector<StreamCopy>& copies,
                                   StreamStage stage, std::vector<StreamWait>& waits) {
      int last = -1;
      for (const StreamCopy& copy : copies)
        if (is_shared(copy))
          last =
              std::max(last, others[static_cast<std::size_t>(copy.array)].of_side[copy.side].tile(copy.rows));
      if (last >= 0) waits.push_back({stage, last, true});
    };
    wait_for_last(writers, tile.uploads, StreamStage::Download, tile.before_upload);
    wait_for_last(readers, tile.downloads, StreamStage::Upload, tile.before_download);
  }
}

index_t rows_of_pass(const StreamArray& array) { return round_up(array.rows, array.align); }

}  // namespace detail::streaming
}  // namespace strata::inline STRATA_ABI
