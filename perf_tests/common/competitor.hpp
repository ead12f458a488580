// What a case is measured against: ways to do the same work on the same memory, without a Strata header.
// Files in baselines/ make them, hosts' in NAME.cpp, those in CUDA in NAME.cu.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/plain_team.hpp"

namespace perf {

/// One way; the work is done when `run` returns.
struct Competitor {
  std::string name;
  std::function<void()> run;
  /// Where it has arrays of its own, in another layout: copy the race's arrays to them, and its results back.
  /// Around the run that is verified, never timed.
  std::function<void()> fetch = {}, give_back = {};
};
/// Variants of one way, of which the fastest counts.
using Sweep = std::vector<Competitor>;

/// Where competitors run. Devices that simulate have none.
struct HostPlace {
  PlainTeam* team;
};
struct CudaPlace {
  void* stream;  ///< a cudaStream_t
};

/// Where Kokkos runs: on one host thread, on all, or on the GPU.
enum class KokkosPlace { Serial, Threads, Cuda };

/// Splits [0, n) among the threads of the team; a team of one runs it at once.
template <class F>
void split(const HostPlace& place, std::ptrdiff_t n, const F& part) {
  if (place.team->size() == 1) part(std::ptrdiff_t{0}, n);
  else place.team->split(n, part);
}

/// The memory bandwidth that bounds a case: a triad in double over three arrays of `bytes` in all.
struct Ceiling {
  Competitor triad;
  double bytes = 0;  ///< that a run moves, 24 an item
};
Ceiling triad_ceiling(HostPlace place, double bytes);
Ceiling triad_ceiling(CudaPlace place, double bytes);

}  // namespace perf
