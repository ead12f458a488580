// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <strata/algorithms/streaming/stream_rates.hpp>

namespace strata::inline STRATA_ABI::detail::streaming {

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

}  // namespace strata::inline STRATA_ABI::detail::streaming
