// SPDX-License-Identifier: Apache-2.0
#include "baselines/host_pages.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace perf {

namespace {

constexpr std::size_t huge = std::size_t{2} << 20, page = 4096;
constexpr unsigned long mask_bits = 1024;
using Mask = unsigned long[mask_bits / (8 * sizeof(unsigned long))];

void set_bit(Mask& mask, int node) {
  constexpr int bits = 8 * sizeof(unsigned long);
  mask[node / bits] |= 1ul << (node % bits);
}

// "0-3,8" of a file of the system.
std::vector<int> list_in(const std::string& path) {
  std::vector<int> all;
  std::ifstream file(path);
  for (int first = 0, last = 0; file >> first; all.push_back(last)) {
    last = first;
    if (file.peek() == '-') file.ignore(1) >> last;
    for (; first < last; ++first) all.push_back(first);
    if (file.peek() == ',') file.ignore(1);
  }
  return all;
}

void touch_pages(char* begin, char* end) {
  for (; begin < end; begin += page) *static_cast<volatile char*>(begin) = 0;
}

// Calls f(thread, threads) on threads of a node, or of all where it is -1. False, where they may not run
// there.
template <class F>
bool on_threads(int node, const F& f) {
  const std::vector<int> cpus =
      node < 0 ? std::vector<int>()
               : list_in("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  const int hardware = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = node < 0 ? hardware : std::min(hardware, 8);
  std::atomic<bool> good = true;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      if (node >= 0 && (cpus.empty() || sched_setaffinity(0, sizeof set, &set) != 0)) good = false;
      if (good) f(static_cast<std::size_t>(t), static_cast<std::size_t>(threads));
    });
  for (std::thread& thread : all) thread.join();
  return good;
}

// By some threads of a node, in runs of huge pages, those of a number `k` of `of`.
bool touch_from(int node, char* data, std::size_t begin, std::size_t end, std::size_t k, std::size_t of) {
  return on_threads(node, [&](std::size_t thread, std::size_t threads) {
    for (std::size_t block = begin / huge; block * huge < end; ++block)
      if (block % of == k && block / of % threads == thread)
        touch_pages(data + std::max(begin, block * huge), data + std::min(end, (block + 1) * huge));
  });
}

bool set_policy(char* data, std::size_t bytes, int policy, const std::vector<int>& nodes) {
  Mask mask = {};
  for (const int node : nodes) set_bit(mask, node);
  return syscall(SYS_mbind, data, bytes, policy, mask, mask_bits, 0) == 0;
}

}  // namespace

const std::vector<int>& numa_nodes() {
  static const std::vector<int> nodes = [] {
    std::vector<int> found = list_in("/sys/devices/system/node/has_memory");
    if (found.empty()) found.push_back(0);
    return found;
  }();
  return nodes;
}

int numa_node_of_pci(const std::string& bus_id) {
  std::string name = bus_id;
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  int node = -1;
  std::ifstream("/sys/bus/pci/devices/" + name + "/numa_node") >> node;
  return node;
}

std::string pages_by_node(const void* data, std::size_t bytes) {
  constexpr std::size_t samples = 256;
  std::map<int, std::size_t> found;
  for (std::size_t k = 0; k < samples; ++k) {
    int node = -1;
    const char* const at = static_cast<const char*>(data) + bytes / samples * k;
    if (syscall(SYS_get_mempolicy, &node, nullptr, 0ul, at,
                static_cast<unsigned long>(MPOL_F_NODE | MPOL_F_ADDR)) == 0)
      ++found[node];
  }
  std::string text;
  char part[64];
  for (const auto& [node, count] : found) {
    std::snprintf(part, sizeof part, "%snode %d %.0f %%", text.empty() ? "" : ", ", node,
                  100.0 * static_cast<double>(count) / samples);
    text += part;
  }
  return text.empty() ? "not known" : text;
}

double host_copy_seconds(std::size_t bytes, int reps) {
  HostPages from(bytes), to(bytes);
  if (from.data() == nullptr || to.data() == nullptr) return 0;
  const auto part = [&](std::size_t k, std::size_t of) { return bytes / page * k / of * page; };
  on_threads(-1, [&](std::size_t t, std::size_t threads) {
    for (const HostPages* pages : {&from, &to})
      touch_pages(pages->data() + part(t, threads), pages->data() + part(t + 1, threads));
  });
  double least = 0;
  for (int rep = 0; rep < reps; ++rep) {
    const auto begin = std::chrono::steady_clock::now();
    on_threads(-1, [&](std::size_t t, std::size_t threads) {
      std::memcpy(to.data() + part(t, threads), from.data() + part(t, threads),
                  part(t + 1, threads) - part(t, threads));
    });
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    least = rep == 0 ? took : std::min(least, took);
  }
  return least;
}

HostPages::HostPages(std::size_t bytes) : bytes_((bytes + huge - 1) / huge * huge) {
  // Begins where a huge page does.
  void* const all = mmap(nullptr, bytes_ + huge, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return;
  char* const first = static_cast<char*>(all);
  const std::size_t before = (huge - reinterpret_cast<std::size_t>(first) % huge) % huge;
  data_ = first + before;
  if (before > 0) munmap(first, before);
  if (before < huge) munmap(data_ + bytes_, huge - before);
  madvise(data_, bytes_, MADV_HUGEPAGE);
}
HostPages::~HostPages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}
void HostPages::touch() { touch_pages(data_, data_ + bytes_); }

bool HostPages::place(std::size_t begin, std::size_t end, int node) {
  begin = begin / huge * huge;
  end = end >= bytes_ ? bytes_ : end / huge * huge;
  if (begin >= end) return true;
  const bool bound = set_policy(data_ + begin, end - begin, MPOL_PREFERRED, {node});
  if (bound) return touch_from(-1, data_, begin, end, 0, 1);
  return touch_from(node, data_, begin, end, 0, 1);
}

bool HostPages::interleave() {
  const std::vector<int>& nodes = numa_nodes();
  if (set_policy(data_, bytes_, MPOL_INTERLEAVE, nodes)) return touch_from(-1, data_, 0, bytes_, 0, 1);
  for (std::size_t k = 0; k < nodes.size(); ++k)
    if (!touch_from(nodes[k], data_, 0, bytes_, k, nodes.size())) return false;
  return true;
}

}  // namespace perf
