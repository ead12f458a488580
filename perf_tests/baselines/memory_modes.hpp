// Competitors of strata_memory_modes: the same patterns in plain CUDA.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/competitor.hpp"
#include "common/memory_patterns.hpp"

namespace perf {

/// How arrays lie and move.
enum class ByHand {
  Pageable,        ///< copies of malloc'd memory
  Pinned,          ///< copies of page-locked memory
  ManagedFaults,   ///< managed memory, moved by faults alone
  Managed,         ///< managed memory: what is read is prefetched, what is overwritten discarded
  ManagedHints,    ///< the same, with hints: what kernels only read is read-mostly, the rest prefers the GPU
  ManagedInPlace,  ///< managed memory that prefers the host, where kernels reach it over the link
  Mapped,          ///< page-locked memory, which kernels reach over the link
  MappedPieces,    ///< the same, with a block for each multiprocessor, which has a piece of the array
  ManagedPieces,   ///< ManagedInPlace, with such blocks
  Implicit         ///< copies of malloc'd memory: all operands before each launch, and after it
};
inline constexpr ByHand ways_by_hand[] = {
    ByHand::Pageable,       ByHand::Pinned,        ByHand::Managed,       ByHand::ManagedHints,
    ByHand::ManagedInPlace, ByHand::ManagedPieces, ByHand::ManagedFaults, ByHand::Mapped,
    ByHand::MappedPieces,   ByHand::Implicit};
const char* name_of(ByHand way);

/// A pattern over arrays of its own, each way with one kernel a launch. A wrong result ends the program.
/// `has_new_arrays`: they are allocated and freed by each run, and filled within it.
template <class T>
MemoryWay memory_by_hand(CudaPlace place, ByHand way, MemoryWork work, HostSide& host,
                         bool has_new_arrays = false);

/// Microseconds a launch: so many kernels over n elements of the device, back to back, then a wait.
template <class T>
double launch_us_by_hand(CudaPlace place, std::ptrdiff_t n, int launches);

extern template MemoryWay memory_by_hand<float>(CudaPlace, ByHand, MemoryWork, HostSide&, bool);
extern template MemoryWay memory_by_hand<double>(CudaPlace, ByHand, MemoryWork, HostSide&, bool);
extern template double launch_us_by_hand<float>(CudaPlace, std::ptrdiff_t, int);
extern template double launch_us_by_hand<double>(CudaPlace, std::ptrdiff_t, int);

}  // namespace perf
