#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <sys/stat.h>

#include <strata/algorithms/streaming/rows.hpp>
#include <strata/algorithms/streaming/stream_rates.hpp>
#include <strata/algorithms/streaming/stream_run.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

std::mutex& rates_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::map<std::string, double>& known_rates() {
  static std::map<std::string, double>& rates = *new std::map<std::string, double>;
  return rates;
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

double known_row_seconds(const std::string& kernel) {
  const std::lock_guard lock(rates_mutex());
  const auto at = known_rates().find(kernel);
  return at == known_rates().end() ? 0 : at->second;
}
void learn_row_seconds(const std::string& kernel, double seconds) {
  const std::lock_guard lock(rates_mutex());
  known_rates()[kernel] = seconds;
}

double known_file_rate(std::uint64_t disk, bool reads, bool writes) {
  return known_row_seconds(name_of_disk(disk, reads, writes));
}
void learn_file_rate(std::uint64_t disk, bool reads, bool writes, double rate) {
  learn_row_seconds(name_of_disk(disk, reads, writes), rate);
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
  struct Sum {
    double seconds = 0;
    index_t rows = 0;
  };
  std::vector<Sum> sums(std::max<std::size_t>(problem_.loops.size(), 1));
  // Launches of sequences are many and short: the model counts their begin by itself.
  const double launch = problem_.loops.empty() ? 0 : device_.rates().launch_seconds;
  for (const Sample& sample : samples_) {
    double took = sample.end->seconds_since(*sample.begin);
    if (took <= 0) continue;
    took = std::max(took - launch, took / 2);
    sums[sample.loop].seconds += took;
    sums[sample.loop].rows += sample.rows;
  }
  const auto row_seconds = [&](std::size_t k) {
    return sums[k].rows > 0 ? sums[k].seconds / static_cast<double>(sums[k].rows) : 0;
  };
  // Launches that are measured one by one take longer than those that follow each other: they have their
  // parts of what a tile takes as a whole.
  double part = 1;
  if (whole_tile_.end) {
    double one_by_one = 0, launches = 0;
    bool all_known = true;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      one_by_one += row_seconds(k) * static_cast<double>(whole_tile_.rows[k]);
      launches += launch * static_cast<double>(whole_tile_.launches[k]);
      all_known = all_known && (whole_tile_.rows[k] == 0 || sums[k].rows > 0);
    }
    const double took = whole_tile_.end->seconds_since(*whole_tile_.begin);
    if (all_known && one_by_one > 0 && took > 0) part = std::max(took - launches, took / 2) / one_by_one;
  }
  for (std::size_t k = 0; k < sums.size(); ++k)
    if (sums[k].rows > 0)
      learn_row_seconds(problem_.loops.empty() ? kernel_ : kernel_of(k), part * row_seconds(k));
}

}  // namespace strata::inline STRATA_ABI::detail
