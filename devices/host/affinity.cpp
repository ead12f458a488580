// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <thread>

#include <strata/core/log.hpp>
#include <strata/devices/host/affinity.hpp>
#include <strata/devices/host/affinity_evidence.hpp>
#include <strata/devices/host/control_group.hpp>
#include <strata/devices/host/start_affinity.hpp>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace strata::inline STRATA_ABI::detail {

namespace {

// Before main() can bind the first thread.
[[maybe_unused]] const std::vector<int>& read_at_load = inherited_processors();

const ProcessAffinity& process_affinity() {
  static const ProcessAffinity affinity = [] {
    ProcessAffinity decided = decide_affinity(read_affinity_evidence());
    if (std::vector<int>& mask = decided.processors; mask.empty()) {
      mask.resize(std::max(1U, std::thread::hardware_concurrency()));
      std::iota(mask.begin(), mask.end(), 0);
    }
    return decided;
  }();
  return affinity;
}

}  // namespace

const std::vector<int>& inherited_processors() { return process_affinity().processors; }

void warn_of_lost_processors() {
  static const bool done = [] {
    if (const std::string& warning = process_affinity().warning; !warning.empty())
      log_message(LogLevel::Warning, "%s", warning.c_str());
    return true;
  }();
  static_cast<void>(done);
}

int usable_processors() {
  static const int usable = [] {
    warn_of_lost_processors();
    const int mask = static_cast<int>(inherited_processors().size());
    const int quota = quota_processors();
    return quota > 0 ? std::min(mask, quota) : mask;
  }();
  return usable;
}

#if defined(__linux__)

namespace {

// One machine word of the kernel's mask. The kernel takes masks of any length and refuses those shorter than
// its own, so cpu_set_t with its fixed 1024 processors is not enough on the largest machines.
using MaskWord = unsigned long;
constexpr std::size_t bits_per_word = 8 * sizeof(MaskWord);
constexpr std::size_t most_words = (std::size_t{1} << 20) / bits_per_word;

cpu_set_t* as_cpu_set(std::vector<MaskWord>& words) { return reinterpret_cast<cpu_set_t*>(words.data()); }

std::vector<int> processors_in(const MaskWord* mask, std::size_t words) {
  std::vector<int> processors;
  for (std::size_t p = 0; p < words * bits_per_word; ++p)
    if ((mask[p / bits_per_word] >> (p % bits_per_word)) & 1U) processors.push_back(static_cast<int>(p));
  return processors;
}

// Filled before constructors run. The kernels of Linux have at most 8192 processors.
constexpr std::size_t start_words = 8192 / bits_per_word;
constinit MaskWord start_mask[start_words] = {};
constinit bool start_mask_was_read = false;

}  // namespace

// Sanitizers are not ready when this runs; a system call is nothing that they replace.
[[gnu::no_sanitize("address", "thread", "undefined")]] void read_start_affinity(int, char**,
                                                                                char**) noexcept {
  if (start_mask_was_read) return;  // each file of a program has an entry
  start_mask_was_read = true;
  syscall(SYS_sched_getaffinity, 0, sizeof start_mask, start_mask);
}

std::vector<int> start_affinity() { return processors_in(start_mask, start_words); }

std::vector<int> processors_of(int thread) {
  for (std::size_t words = 1024 / bits_per_word; words <= most_words; words *= 2) {
    std::vector<MaskWord> mask(words, 0);
    if (sched_getaffinity(thread, words * sizeof(MaskWord), as_cpu_set(mask)) == 0)
      return processors_in(mask.data(), words);
  }
  return {};
}

std::vector<int> processors_of_this_thread() { return processors_of(0); }

int processor_of_this_thread() { return sched_getcpu(); }

int memory_node_of_this_thread() {
  unsigned processor = 0, node = 0;
  return syscall(SYS_getcpu, &processor, &node, nullptr) == 0 ? static_cast<int>(node) : 0;
}

bool bind_this_thread(const std::vector<int>& processors) {
  if (processors.empty()) return false;
  const auto highest = static_cast<std::size_t>(*std::max_element(processors.begin(), processors.end()));
  std::vector<MaskWord> mask(highest / bits_per_word + 1, 0);
  for (const int p : processors)
    mask[static_cast<std::size_t>(p) / bits_per_word] |= MaskWord{1}
                                                         << (static_cast<std::size_t>(p) % bits_per_word);
  return sched_setaffinity(0, mask.size() * sizeof(MaskWord), as_cpu_set(mask)) == 0;
}

#else

void read_start_affinity(int, char**, char**) noexcept {}

std::vector<int> start_affinity() { return {}; }

std::vector<int> processors_of(int) { return {}; }

std::vector<int> processors_of_this_thread() { return {}; }

int processor_of_this_thread() { return -1; }

int memory_node_of_this_thread() { return 0; }

bool bind_this_thread(const std::vector<int>&) { return false; }

#endif

}  // namespace strata::inline STRATA_ABI::detail
