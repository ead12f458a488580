// Copies between pinned memory and a GPU by hand, both ways at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace perf {

/// Seconds in which `up` bytes go to the GPU and, at the same time, `down` bytes come back, in copies of
/// `chunk` bytes between pinned memory and the GPU's: the median of `reps`. What a program that overlaps all
/// copies perfectly would take.
double link_copy_seconds(std::size_t up, std::size_t down, std::size_t chunk, int reps);
/// The same with each of `devices` GPUs, all at the same time: what their links, and the host's memory, bear
/// together.
double links_copy_seconds(int devices, std::size_t up, std::size_t down, std::size_t chunk, int reps);

/// Seconds in which `devices` GPUs together take one page-locked array of the host, and write another one, or
/// one of them where the other is null: each a run of it, in copies of `chunk` bytes, all at the same time;
/// the median of `reps`. Unlike the ring above this reads and writes all of the host's memory that a map of
/// the array does.
double arrays_copy_seconds(int devices, const void* in, void* out, std::size_t bytes, std::size_t chunk,
                           int reps);

/// How an array of the host comes to be page-locked, and on which NUMA nodes its pages lie.
enum class PinnedPages {
  HostAlloc,    ///< all by cudaHostAlloc, as Strata has them
  OneThread,    ///< touched by one thread, then registered
  Interleaved,  ///< over all nodes in turn, then registered
  NearGpus      ///< the run of each GPU on the node near it, then registered
};
const char* name_of(PinnedPages pages);
struct ArraysCopy {
  double both = 0, in = 0, out = 0;  ///< seconds: both ways at once, and one way at a time; 0: not measured
  std::string nodes;                 ///< where pages lie, as far as the system says
};
/// arrays_copy_seconds of two such arrays. Not measured where the machine does not allow them.
ArraysCopy arrays_copy(PinnedPages pages, int devices, std::size_t bytes, std::size_t chunk, int reps);
/// The node near each GPU; -1: not known.
std::vector<int> numa_nodes_of_gpus(int devices);

}  // namespace perf
