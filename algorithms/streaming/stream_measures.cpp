// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_measures.hpp>
#include <strata/algorithms/streaming/stream_rates.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

namespace {

constexpr double least_part_of_rows = 1. / 16;  // that rows have in the time of a launch

}  // namespace

// ---- names

std::string StreamMeasures::name_of_loop(std::size_t loop) const {
  return kernel_ + "#" + std::to_string(loop);
}
std::string StreamMeasures::name_of_launches() const { return kernel_ + "#launch"; }

void StreamMeasures::set_kernel(const std::string& kernel, StreamProblem& problem) {
  kernel_ = std::string(job_.device.device_name()) + ":" + kernel;
  for (const StreamArray& a : problem.arrays)
    kernel_ += "," + std::to_string(a.use == StreamArray::Use::Whole ? 0 : a.row_bytes);
  problem.seconds_per_row = known_figure(kernel_);
  problem.seconds_per_launch = known_figure(name_of_launches());
  for (std::size_t k = 0; k < problem.loops.size(); ++k)
    problem.loops[k].seconds_per_row = known_figure(name_of_loop(k));
}

// ---- while tiles are enqueued

void StreamMeasures::restart() {
  samples_.clear();
  one_by_one_ = -1;
  wholes_ = {};
  current_ = {};
  if (job_.problem.is_sequence()) choose_tiles(job_.plan.pass_number(0));
}

// Of tiles that compute: one in the middle, where all loops are under way, and two after it.
void StreamMeasures::choose_tiles(const StreamPass& pass) {
  std::vector<long> computing;
  for (std::size_t k = 0; k < pass.tiles.size(); ++k)
    if (!pass.tiles[k].launches.empty()) computing.push_back(static_cast<long>(k));
  const auto rows_a_launch = [&](long tile) {
    const std::vector<StreamLaunch>& launches = pass.tiles[static_cast<std::size_t>(tile)].launches;
    index_t rows = 0;
    for (const StreamLaunch& launch : launches) rows += rows_of(launch.work);
    return static_cast<double>(rows) / static_cast<double>(launches.size());
  };
  const std::size_t middle = computing.size() / 2;
  if (middle < computing.size()) one_by_one_ = computing[middle];
  if (middle + 1 >= computing.size()) return;
  wholes_[0].tile = computing[middle + 1];
  const double full = rows_a_launch(computing[middle + 1]);
  double best = full / 4;  // from half of it
  for (std::size_t k = middle + 2; k < computing.size(); ++k)
    if (const double off = std::abs(rows_a_launch(computing[k]) - full / 2); off < best) {
      best = off;
      wholes_[1].tile = computing[k];
    }
}

void StreamMeasures::begin_tile(long number, const StreamTile& tile, std::size_t tiles) {
  // The first tiles of a pass are at its edges, and first launches are slow.
  constexpr std::size_t samples_wanted = 4;
  const bool is_sequence = job_.problem.is_sequence();
  current_ = {};
  current_.timed = !tile.launches.empty() && samples_.size() < samples_wanted &&
                   (is_sequence ? number == one_by_one_ : number > 0 || tiles == 1);
  for (WholeTile& whole : wholes_)
    if (whole.tile == number) current_.whole = &whole;
  if (current_.whole != nullptr) {
    current_.whole->rows.assign(job_.problem.loops.size(), 0);
    current_.whole->launches.assign(job_.problem.loops.size(), 0);
    current_.whole->begin = job_.compute.record_timed();
  }
  if (current_.timed) current_.begin = job_.compute.record_timed();
}

void StreamMeasures::begin_launch() {
  if (current_.timed && job_.problem.is_sequence()) current_.begin = job_.compute.record_timed();
}

void StreamMeasures::end_launch(const StreamLaunch& launch) {
  const index_t rows = rows_of(launch.work);
  current_.rows += rows;
  if (!job_.problem.is_sequence()) return;
  const std::size_t loop =
      static_cast<std::size_t>(job_.problem.first_loop + launch.step - 1) % job_.problem.loops.size();
  if (current_.whole != nullptr) {
    current_.whole->rows[loop] += rows;
    ++current_.whole->launches[loop];
  }
  if (current_.timed) samples_.push_back({current_.begin, job_.compute.record_timed(), rows, loop});
}

void StreamMeasures::end_tile() {
  if (current_.rows == 0) return;
  if (current_.whole != nullptr) current_.whole->end = job_.compute.record_timed();
  if (current_.timed && !job_.problem.is_sequence())
    samples_.push_back({current_.begin, job_.compute.record_timed(), current_.rows, 0});
}

// ---- afterwards

void StreamMeasures::learn() const {
  if (job_.problem.is_sequence()) learn_loops();
  else learn_kernel();
}

void StreamMeasures::learn_kernel() const {
  RowTime sum;
  for (const Sample& sample : samples_) {
    const double took = sample.end->seconds_since(*sample.begin);
    if (took <= 0) continue;
    sum.seconds += took;
    sum.rows += sample.rows;
  }
  if (sum.rows > 0) learn_figure(kernel_, sum.of_row());
}

// The time of a launch in addition to that of its rows: the device is partly idle at its begin and end.
double StreamMeasures::launch_seconds() const {
  const double known = job_.problem.seconds_per_launch;
  return known > 0 ? known : job_.device.rates().launch_seconds;
}

// Of each loop. Launches are many and short: the model counts their begin and end by themselves.
std::vector<StreamMeasures::RowTime> StreamMeasures::row_times(double launch) const {
  std::vector<RowTime> times(job_.problem.loops.size());
  for (const Sample& sample : samples_) {
    const double took = sample.end->seconds_since(*sample.begin);
    if (took <= 0) continue;
    times[sample.loop].seconds += std::max(took - launch, least_part_of_rows * took);
    times[sample.loop].rows += sample.rows;
  }
  return times;
}

void StreamMeasures::learn_loops() const {
  double launch = launch_seconds();
  const std::vector<RowTime> times = row_times(launch);
  // The time of a tile is `part` of the time of its rows measured one by one, plus a time for each launch:
  // consecutive launches are shorter than launches that are measured. Two tiles give both.
  struct Tile {
    double took = 0, rows = 0, launches = 0;
  };
  const auto look_at = [&](const WholeTile& whole) {
    Tile tile;
    if (!whole.end) return tile;
    for (std::size_t k = 0; k < times.size(); ++k) {
      if (whole.rows[k] > 0 && times[k].rows == 0) return Tile{};
      tile.rows += times[k].of_row() * static_cast<double>(whole.rows[k]);
      tile.launches += static_cast<double>(whole.launches[k]);
    }
    tile.took = whole.end->seconds_since(*whole.begin);
    return tile;
  };
  const Tile full = look_at(wholes_[0]), half = look_at(wholes_[1]);
  double part = 1;
  if (full.took > 0 && full.rows > 0) {
    // Only where launches of the one are much shorter; the mean with what was known, as times are noisy.
    const double both = full.rows * half.launches - half.rows * full.launches;
    if (half.took > 0 && both > full.rows * half.launches / 5) {
      const double known = job_.problem.seconds_per_launch, least = 1e-9;
      const double found = (half.took * full.rows - full.took * half.rows) / both;
      launch = std::clamp(found, least, (1 - least_part_of_rows) * full.took / full.launches);
      if (known > 0) launch = (launch + known) / 2;
      learn_figure(name_of_launches(), launch);
    }
    part = std::max(full.took - launch * full.launches, least_part_of_rows * full.took) / full.rows;
  }
  for (std::size_t k = 0; k < times.size(); ++k)
    if (times[k].rows > 0) learn_figure(name_of_loop(k), part * times[k].of_row());
}

}  // namespace strata::inline STRATA_ABI::detail::streaming
