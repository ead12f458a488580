// Copies between pinned memory and a GPU by hand, both ways at once.
#pragma once

#include <cstddef>

namespace perf {

/// Seconds in which `up` bytes go to the GPU and, at the same time, `down` bytes come back, in copies of
/// `chunk` bytes between pinned memory and the GPU's: the median of `reps`. What a program that overlaps all
/// copies perfectly would take.
double link_copy_seconds(std::size_t up, std::size_t down, std::size_t chunk, int reps);
/// The same with each of `devices` GPUs, all at the same time: what their links, and the host's memory, bear
/// together.
double links_copy_seconds(int devices, std::size_t up, std::size_t down, std::size_t chunk, int reps);

}  // namespace perf
