// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/plan/stream_model.hpp>
#include <strata/algorithms/streaming/plan/stream_windows.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

using Use = StreamArray::Use;

// Bytes a second of a copy within the host's memory, by its threads: of machines with GPUs, about.
constexpr double host_copy_rate = 40e9;

// The kernel's time for one row and step; estimated from the bytes that it moves, if it was never measured.
double row_seconds(const StreamProblem& problem, const StreamRates& rates) {
  if (problem.seconds_per_row > 0) return problem.seconds_per_row;
  double bytes = 0;
  for (const StreamArray& array : problem.arrays)
    if (array.use != Use::Whole)
      bytes += static_cast<double>(array.row_bytes) *
               (array.use == Use::State || array.mode == AccessMode::InOut ? 2 : 1);
  return rates.memory > 0 ? bytes / rates.memory : 0;
}

double row_seconds(const StreamProblem& problem, const StreamLoop& loop, const StreamRates& rates) {
  if (loop.seconds_per_row > 0) return loop.seconds_per_row;
  double bytes = 0;
  for (const StreamLoop::Use& use : loop.uses) {
    const StreamArray& array = problem.arrays[static_cast<std::size_t>(use.array)];
    if (array.use != Use::Whole)
      bytes += static_cast<double>(array.row_bytes) * (use.mode == AccessMode::InOut ? 2 : 1);
  }
  return rates.memory > 0 ? bytes / rates.memory : 0;
}

// The time of a stage of a tile. If both directions of the link are in use, they share their joint speed.
struct Speeds {
  double up, down;
};
Speeds speeds_of(const StreamBytes& bytes, const StreamRates& rates) {
  Speeds speeds{rates.up, rates.down};
  if (bytes.up > 0 && bytes.down > 0 && rates.both > 0 && rates.up + rates.down > 0) {
    const double part = std::min(1.0, rates.both / (rates.up + rates.down));
    speeds = {rates.up * part, rates.down * part};
  }
  return speeds;
}

// The stages of tiles on three engines, one tile after the other.
class Engines {
 public:
  Engines(const StreamProblem& problem, const StreamPlan& plan, const StreamRates& rates)
      : problem_(problem), rates_(rates), windows_(problem, plan) {
    if (problem.loops.empty()) row_seconds_.push_back(row_seconds(problem, rates));
    for (const StreamLoop& loop : problem.loops) row_seconds_.push_back(row_seconds(problem, loop, rates));
    speeds_ = speeds_of(bytes_of(problem, plan.last), rates);
  }

  void pass(const StreamPass& pass, int previous_tiles) {
    const std::size_t first = done_.size();
    // Devices that share the rows wait for each other.
    if (is_partial(problem_)) ready_.fill(end());
    windows_.add(pass);
    for (std::size_t k = 0; k < pass.tiles.size(); ++k) {
      const StreamTile& tile = pass.tiles[k];
      const auto after = [&](double start, const std::vector<StreamWait>& waits) {
        for (const StreamWait& wait : waits) {
          const long at = static_cast<long>(first) + wait.tile - (wait.previous_pass ? previous_tiles : 0);
          if (at >= 0 && (!wait.previous_pass || previous_tiles > 0))
            start = std::max(start, done(wait.stage, at));
        }
        return start;
      };
      double start = after(0, tile.before_upload);
      for (const SlotWait& wait : windows_.waits(static_cast<long>(done_.size())))
        start = std::max(start, done(wait.stage, wait.tile));
      done_.push_back({});
      // Copies of several arrays follow each other without a pause.
      run(StreamStage::Upload, start, copy_seconds(tile.uploads, speeds_.up));
      run(StreamStage::Compute, done_.back()[0], compute_seconds(tile));
      run(StreamStage::Download, after(done_.back()[1], tile.before_download),
          copy_seconds(tile.downloads, speeds_.down));
    }
  }
  double end() const { return *std::max_element(ready_.begin(), ready_.end()); }
  /// When a tile has been copied to the host.
  double done_at(std::size_t tile) const { return done_[tile][2]; }

 private:
  double done(StreamStage stage, long tile) const {
    return done_[static_cast<std::size_t>(tile)][static_cast<std::size_t>(stage)];
  }
  void run(StreamStage stage, double start, double seconds) {
    double& ready = ready_[rates_.in_turn ? 0 : static_cast<std::size_t>(stage)];
    start = std::max(start, ready);
    if (seconds > 0) ready = start + seconds;
    done_.back()[static_cast<std::size_t>(stage)] = start + seconds;
  }
  double copy_seconds(const std::vector<StreamCopy>& copies, double speed) const {
    double seconds = 0;
    for (const StreamCopy& copy : copies) {
      const double bytes = static_cast<double>(
          rows_of(copy.rows) * problem_.arrays[static_cast<std::size_t>(copy.array)].row_bytes);
      seconds += (speed > 0 ? bytes / speed : 0) + rates_.copy_latency;
    }
    return seconds;
  }
  double compute_seconds(const StreamTile& tile) const {
    double seconds = 0;
    for (const StreamMove& move : tile.moves)
      seconds +=
          rates_.launch_latency +
          (rates_.memory > 0
               ? 2 *
                     static_cast<double>(rows_of(move.rows) *
                                         problem_.arrays[static_cast<std::size_t>(move.array)].row_bytes) /
                     rates_.memory
               : 0);
    const double launch_seconds =
        problem_.seconds_per_launch > 0 ? problem_.seconds_per_launch : rates_.launch_latency;
    for (const StreamLaunch& launch : tile.launches)
      seconds += launch_seconds + static_cast<double>(rows_of(launch.work)) * row_seconds_of(launch);
    return seconds;
  }

  double row_seconds_of(const StreamLaunch& launch) const {
    return row_seconds_[static_cast<std::size_t>(problem_.first_loop + launch.step - 1) %
                        row_seconds_.size()];
  }

  const StreamProblem& problem_;
  const StreamRates& rates_;
  StreamWindows windows_;
  std::vector<double> row_seconds_;  // of each loop
  Speeds speeds_;
  std::array<double, 3> ready_{};
  std::vector<std::array<double, 3>> done_;
};

}  // namespace

double predict(const StreamProblem& problem, const StreamPlan& plan, const StreamRates& rates) {
  if (plan.passes == 0 || plan.last.tiles.empty()) return 0;
  double whole = 0;
  for (const StreamArray& array : problem.arrays)
    if (array.use == Use::Whole) {
      const double bytes = static_cast<double>(array.rows * array.row_bytes);
      if (reads(array.mode) && rates.up > 0) whole += bytes / rates.up;
      if (writes(array.mode) && rates.down > 0) whole += bytes / rates.down;
    }
  Engines engines(problem, plan, rates);
  // Passes in the middle take as long as each other.
  constexpr int looked_at = 4;
  const int passes = std::min(plan.passes, looked_at);
  // Results in the second copies of states are copied to the first ones at the end.
  if (!plan.pass.in_place && plan.passes % 2 != 0)
    for (const StreamArray& array : problem.arrays)
      if (array.use == Use::State)
        whole += static_cast<double>(array.rows * array.row_bytes) / host_copy_rate;
  double before = 0, each = 0;
  int tiles = 0;
  for (int p = 0; p < passes; ++p) {
    const StreamPass& pass = plan.pass_number(p + 1 < passes ? 0 : plan.passes - 1);
    engines.pass(pass, tiles);
    tiles = static_cast<int>(pass.tiles.size());
    if (p + 1 < passes) each = engines.end() - before;
    before = engines.end();
  }
  return whole + engines.end() + each * (plan.passes - passes);
}

double sampled_seconds(const StreamProblem& problem, const StreamPass& sample, int steps,
                       const Sharing& sharing, const std::vector<index_t>& window_rows,
                       const StreamRates& rates) {
  StreamPlan plan;
  plan.slots = sharing.slots;
  plan.tiles_per_window = sharing.tiles_per_window;
  plan.pieces = sharing.pieces;
  plan.window_rows = window_rows;
  plan.pass = plan.last = sample;
  Engines engines(problem, plan, rates);
  engines.pass(sample, 0);
  const index_t rows = rows_of(problem.work);
  const auto rows_until = [&](std::size_t tiles) {
    index_t end = problem.work.begin;
    for (std::size_t k = 0; k < tiles; ++k)
      for (const StreamLaunch& launch : sample.tiles[k].launches)
        if (launch.step == 1) end = std::max(end, launch.work.end);
    return end - problem.work.begin;
  };
  const double passes = std::ceil(static_cast<double>(problem.steps) / steps);
  const std::size_t tiles = sample.tiles.size(),
                    before =
                        tiles - std::min<std::size_t>(tiles, 8 * static_cast<std::size_t>(sharing.pieces));
  const index_t reached = rows_until(tiles), reached_before = rows_until(before);
  // All of the pass, or too little of it to extrapolate.
  if (reached >= rows || reached_before == 0 || reached <= reached_before) {
    const double part = static_cast<double>(std::max<index_t>(reached, 1)) / static_cast<double>(rows);
    return engines.end() * passes / std::min(part, 1.0);
  }
  const double end = engines.done_at(tiles - 1), begin = engines.done_at(before - 1);
  const double a_row = (end - begin) / static_cast<double>(reached - reached_before);
  return engines.done_at(static_cast<std::size_t>(sharing.pieces) - 1) +
         a_row * static_cast<double>(rows) * passes;
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
