// The bandwidth that bounds a case, measured in the same race as the case.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "common/plain_loops.hpp"
#include "common/plain_team.hpp"
#include "common/timing.hpp"

namespace perf {

/// A triad (24 bytes an item in double, see plain_loops.hpp) by `threads` plain threads over three arrays of
/// `bytes` in all, as a competitor. In cache `passes` over them hide what it costs to set several threads
/// going.
template <class T>
class TriadCeiling {
 public:
  TriadCeiling(double bytes, int threads, int passes = 1)
      : n_(static_cast<std::ptrdiff_t>(bytes / 3 / sizeof(T)) / 64 * 64 + 64),
        passes_(passes),
        data_(allocate(3 * static_cast<std::size_t>(n_) * sizeof(T))),
        team_(std::make_unique<PlainTeam>(threads)) {
    // Touched first by the threads that will use it.
    team_->split(3 * n_, [this](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (std::ptrdiff_t i = begin; i < end; ++i) at(0)[i] = T(1);
    });
  }
  TriadCeiling(const TriadCeiling&) = delete;
  TriadCeiling& operator=(const TriadCeiling&) = delete;

  /// What a copy with the kernels' mix of reads and writes reaches.
  int add_scale(Race& race) {
    return race.add([this] {
      split([this](std::ptrdiff_t b, std::ptrdiff_t e) { plain_scale(at(0) + b, at(1) + b, T(3), e - b); });
    });
  }
  int add_to(Race& race) {
    return race.add([this] { run_triad(); });
  }
  void run_triad() const {
    split([this](std::ptrdiff_t b, std::ptrdiff_t e) {
      plain_triad(at(0) + b, at(1) + b, at(2) + b, T(3), e - b);
    });
  }
  double triad_bytes() const { return 3.0 * passes_ * static_cast<double>(n_) * sizeof(T); }
  double scale_bytes() const { return 2.0 * passes_ * static_cast<double>(n_) * sizeof(T); }

 private:
  template <class F>
  void split(const F& part) const {
    const auto all_passes = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
      for (int p = 0; p < passes_; ++p) part(begin, end);
    };
    if (team_->size() == 1) all_passes(0, n_);
    else team_->split(n_, all_passes);
  }
  T* at(int array) const { return static_cast<T*>(data_.get()) + array * n_; }

  using Memory = std::unique_ptr<void, void (*)(void*)>;
  static Memory allocate(std::size_t bytes);

  std::ptrdiff_t n_;
  int passes_;
  Memory data_;
  std::unique_ptr<PlainTeam> team_;
};

/// Memory at a 2 MiB boundary, in huge pages where the system gives them: what Strata's arrays get.
void* allocate_plain(std::size_t bytes);

template <class T>
typename TriadCeiling<T>::Memory TriadCeiling<T>::allocate(std::size_t bytes) {
  return {allocate_plain(bytes), [](void* data) { ::operator delete(data, std::align_val_t(2 << 20)); }};
}

}  // namespace perf
