// Plain threads that run one function at once, without a Strata header: the ceilings of several cores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace perf {

/// `size` threads, the caller included; the others sleep between runs.
class PlainTeam {
 public:
  explicit PlainTeam(int size);
  ~PlainTeam();
  PlainTeam(const PlainTeam&) = delete;
  PlainTeam& operator=(const PlainTeam&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  /// Calls work(worker) on every thread, worker = 0 .. size() - 1; returns when all are done.
  void run(const std::function<void(int)>& work);
  /// Calls work(begin, end) on every thread with its part of [0, n), cut at multiples of 64.
  void split(std::ptrdiff_t n, const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& work);

 private:
  void help(int worker);

  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> round_{0};
  std::atomic<int> busy_{0};
  std::vector<std::thread> threads_;
};

}  // namespace perf
