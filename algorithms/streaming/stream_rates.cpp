#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <sys/stat.h>

#include <strata/algorithms/streaming/plan/rows.hpp>
#include <strata/algorithms/streaming/stream_rates.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::mutex& figures_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::map<std::string, double>& known_figures() {
  static std::map<std::string, double>& figures = *new std::map<std::string, double>;
  return figures;
}

std::string name_of_disk(std::uint64_t disk, bool reads, bool writes) {
  return "disk " + std::to_string(disk) + (reads ? ", read" : "") + (writes ? ", written" : "");
}

}  // namespace

double host_copy_speed() {
  static const double speed = [] {
    constexpr std::size_t bytes = std::size_t{16} << 20;
    const std::vector<char> from(bytes, 1);
    std::vector<char> to(bytes);
    double best = 1;
    for (int round = 0; round < 3; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      std::memcpy(to.data(), from.data(), bytes);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return static_cast<double>(bytes) / std::max(best, 1e-6);
  }();
  return speed;
}

double known_figure(const std::string& name) {
  const std::lock_guard lock(figures_mutex());
  const auto at = known_figures().find(name);
  return at == known_figures().end() ? 0 : at->second;
}
void learn_figure(const std::string& name, double value) {
  const std::lock_guard lock(figures_mutex());
  known_figures()[name] = value;
}

double known_file_rate(std::uint64_t disk, bool reads, bool writes) {
  return known_figure(name_of_disk(disk, reads, writes));
}
void learn_file_rate(std::uint64_t disk, bool reads, bool writes, double rate) {
  learn_figure(name_of_disk(disk, reads, writes), rate);
}

// What the plan reads from the files of each disk, and writes to them.
std::map<std::uint64_t, StreamRun::FileBytes> StreamRun::file_bytes() const {
  std::map<std::uint64_t, FileBytes> disks;
  for (std::size_t a = 0; a < operands_.size(); ++a) {
    if (operands_[a].file == nullptr || is_whole(a)) continue;
    struct stat status {};
    if (fstat(operands_[a].file->file().descriptor(), &status) != 0) continue;
    FileBytes& bytes = disks[static_cast<std::uint64_t>(status.st_dev)];
    const auto add = [&](const StreamPass& pass, index_t times) {
      for (const StreamTile& tile : pass.tiles) {
        for (const StreamCopy& copy : tile.uploads)
          if (static_cast<std::size_t>(copy.array) == a)
            bytes.read += times * rows_of(copy.rows) * problem_.arrays[a].row_bytes;
        for (const StreamCopy& copy : tile.downloads)
          if (static_cast<std::size_t>(copy.array) == a)
            bytes.written += times * rows_of(copy.rows) * problem_.arrays[a].row_bytes;
      }
    };
    if (plan_.passes > 1) add(plan_.pass, plan_.passes - 1);
    if (plan_.passes > 0) add(plan_.last, 1);
  }
  return disks;
}

// The time that disks take, all at once.
double StreamRun::file_seconds() const {
  double most = 0;
  for (const auto& [disk, bytes] : file_bytes()) {
    const double rate = known_file_rate(disk, bytes.read > 0, bytes.written > 0);
    if (rate > 0) most = std::max(most, static_cast<double>(bytes.read + bytes.written) / rate);
  }
  return most;
}

void StreamRun::learn() {
  if (has_files_ && report_.seconds > 0)
    for (const auto& [disk, bytes] : file_bytes())
      learn_file_rate(disk, bytes.read > 0, bytes.written > 0,
                      static_cast<double>(bytes.read + bytes.written) / report_.seconds);
  if (problem_.is_sequence()) learn_loops();
  else learn_kernel();
}

void StreamRun::learn_kernel() {
  double seconds = 0;
  index_t rows = 0;
  for (const Sample& sample : samples_) {
    const double took = sample.end->seconds_since(*sample.begin);
    if (took <= 0) continue;
    seconds += took;
    rows += sample.rows;
  }
  if (rows > 0) learn_figure(kernel_, seconds / static_cast<double>(rows));
}

// Of a pass's tiles that compute: one in the middle, where all loops are under way, whose launches are
// measured one by one; the next one, as a whole; and of those behind, the one whose launches are most nearly
// half as long.
void StreamRun::choose_samples(const StreamPass& pass) {
  sampled_ = {};
  if (!problem_.is_sequence()) return;
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
  if (middle < computing.size()) sampled_.one_by_one = computing[middle];
  if (middle + 1 >= computing.size()) return;
  sampled_.tiles[0].tile = computing[middle + 1];
  const double full = rows_a_launch(computing[middle + 1]);
  double best = full / 4;  // from half of it
  for (std::size_t k = middle + 2; k < computing.size(); ++k)
    if (const double off = std::abs(rows_a_launch(computing[k]) - full / 2); off < best) {
      best = off;
      sampled_.tiles[1].tile = computing[k];
    }
}

void StreamRun::learn_loops() {
  struct Sum {
    double seconds = 0;
    index_t rows = 0;
  };
  std::vector<Sum> sums(problem_.loops.size());
  constexpr double least_part = 1. / 16;  // that rows have in the time of a launch
  // Launches are many and short: the model counts their begin and end by themselves.
  double launch = launch_seconds();
  for (const Sample& sample : samples_) {
    double took = sample.end->seconds_since(*sample.begin);
    if (took <= 0) continue;
    took = std::max(took - launch, least_part * took);
    sums[sample.loop].seconds += took;
    sums[sample.loop].rows += sample.rows;
  }
  const auto row_seconds = [&](std::size_t k) {
    return sums[k].rows > 0 ? sums[k].seconds / static_cast<double>(sums[k].rows) : 0;
  };
  // What a tile takes as a whole is `part` of what its rows take one by one, and a time for each launch:
  // those that follow each other are shorter than launches that are measured. Two tiles tell both.
  struct Tile {
    double took = 0, rows = 0, launches = 0;
  };
  const auto look_at = [&](const TileSample& sample) {
    Tile tile;
    if (!sample.end) return tile;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      if (sample.rows[k] > 0 && sums[k].rows == 0) return Tile{};
      tile.rows += row_seconds(k) * static_cast<double>(sample.rows[k]);
      tile.launches += static_cast<double>(sample.launches[k]);
    }
    tile.took = sample.end->seconds_since(*sample.begin);
    return tile;
  };
  const Tile full = look_at(sampled_.tiles[0]), half = look_at(sampled_.tiles[1]);
  double part = 1;
  if (full.took > 0 && full.rows > 0) {
    // Only where launches of the one are much shorter; the mean with what was known, as times are noisy.
    const double both = full.rows * half.launches - half.rows * full.launches;
    if (half.took > 0 && both > full.rows * half.launches / 5) {
      const double known = problem_.seconds_per_launch, least = 1e-9;
      const double found = (half.took * full.rows - full.took * half.rows) / both;
      launch = std::clamp(found, least, (1 - least_part) * full.took / full.launches);
      if (known > 0) launch = (launch + known) / 2;
      learn_figure(launches_of_kernel(), launch);
    }
    part = std::max(full.took - launch * full.launches, least_part * full.took) / full.rows;
  }
  for (std::size_t k = 0; k < sums.size(); ++k)
    if (sums[k].rows > 0) learn_figure(kernel_of(k), part * row_seconds(k));
}

// The time of a launch beside that of its rows: of what is idle at its begin and end.
double StreamRun::launch_seconds() const {
  return problem_.seconds_per_launch > 0 ? problem_.seconds_per_launch : device_.rates().launch_seconds;
}

}  // namespace strata::inline STRATA_ABI::detail
