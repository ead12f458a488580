// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <sys/sysinfo.h>
#include <unistd.h>

#include <strata/devices/host/control_group.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Whole processors of one quota; a fraction is dropped, because spinning threads would use it up and then
// all be throttled for the rest of the period. 0 without a quota.
int whole_processors(double quota, double period) {
  if (quota <= 0 || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::min(quota / period, 1e6)));
}

// Version 2 writes "max 100000" or "QUOTA PERIOD" in one file.
index_t quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period ? whole_processors(quota, period) : 0;
}

// Version 1 writes two files; -1 is no quota.
index_t quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  return quota_file >> quota && period_file >> period ? whole_processors(quota, period) : 0;
}

// Version 2 writes "max" or bytes; version 1 without a limit the most that its counter of pages can have.
index_t bytes_in(const std::string& path) {
  constexpr index_t unlimited = index_t{1} << 60;
  std::ifstream file(path);
  index_t bytes = 0;
  return file >> bytes && 0 <= bytes && bytes < unlimited ? std::max(bytes, index_t{1}) : 0;
}
index_t memory_v2(const std::string& folder) { return bytes_in(folder + "/memory.max"); }
index_t memory_v1(const std::string& folder) { return bytes_in(folder + "/memory.limit_in_bytes"); }

using Limit = index_t (*)(const std::string& folder);

index_t lesser(index_t a, index_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

// The tightest limit of a group and its ancestors. In a container the path may be that of the host and not
// exist here, while the mount point itself is the container's group; walking up to it covers both. A path by
// way of ".." is one outside of what is mounted.
index_t tightest_limit(const std::string& mount, std::string path, Limit limit_of) {
  index_t tightest = 0;
  if ((path + '/').find("/../") != std::string::npos) path.clear();
  for (;;) {
    tightest = lesser(tightest, limit_of(mount + path));
    if (path.empty()) return tightest;
    path.erase(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

bool has_controller(const std::string& controllers, const std::string& wanted) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');)
    if (name == wanted) return true;
  return false;
}

index_t tightest_limit(const std::string& membership, const std::string& root, const std::string& controller,
                       Limit version_1, Limit version_2) {
  index_t tightest = 0;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {  // HIERARCHY:CONTROLLERS:PATH
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    const auto look_in = [&](const std::string& mount, Limit limit_of) {
      tightest = lesser(tightest, tightest_limit(mount, path, limit_of));
    };
    if (controllers.empty()) {
      look_in(root, version_2);
      look_in(root + "/unified", version_2);  // beside mounts of version 1
    } else if (has_controller(controllers, controller)) {
      look_in(root + "/" + controller, version_1);
      if (controllers != controller) look_in(root + "/" + controllers, version_1);  // without a link
    }
  }
  return tightest;
}

constexpr char live_root[] = "/sys/fs/cgroup";

std::string live_membership() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int quota_processors(const std::string& membership, const std::string& root) {
  return static_cast<int>(tightest_limit(membership, root, "cpu", quota_v1, quota_v2));
}

index_t limited_memory(const std::string& membership, const std::string& root) {
  return tightest_limit(membership, root, "memory", memory_v1, memory_v2);
}

int quota_processors() {
  static const int processors = quota_processors(live_membership(), live_root);
  return processors;
}

index_t limited_memory() {
  static const index_t bytes = limited_memory(live_membership(), live_root);
  return bytes;
}

index_t usable_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return lesser(pages > 0 && page > 0 ? index_t{pages} * page : 0, limited_memory());
}

index_t resident_memory() {
  std::ifstream file("/proc/self/status");
  index_t kibibytes = 0;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("RssAnon:") || line.starts_with("RssShmem:"))
      kibibytes += std::strtoll(line.c_str() + line.find(':') + 1, nullptr, 10);
  return kibibytes * 1024;
}

index_t most_memory() {
  const index_t limit = limited_memory();
  struct sysinfo system {};
  if (limit == 0 || sysinfo(&system) != 0) return limit;
  return limit + static_cast<index_t>(system.totalswap) * static_cast<index_t>(system.mem_unit);
}

}  // namespace strata::inline STRATA_ABI::detail
