// Counters: the number of events and their bytes, by kind. Counting begins on request, by the program or by
// the setting `counters`; until then it costs nothing beyond the branch of every hook.
//
// All functions may be called from any thread. Allocations and frees of other threads at the moment that
// counting begins may be missing from the live bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Launches of one kind.
struct KernelCount {
  std::uint64_t calls = 0;  ///< launches
  std::uint64_t items = 0;  ///< work items; of graphs: operations
};

/// Copies from memory of one kind to memory of one kind ("Host", "Cuda").
struct CopyCount {
  std::string source;       ///< empty: the destination was filled with a value
  std::string destination;  ///< the kind of memory
  std::uint64_t calls = 0;  ///< copies or fills
  std::uint64_t bytes = 0;  ///< of all
};

/// One memory.
struct MemoryCount {
  std::string kind;                   ///< "Host", "Cuda"
  int instance = 0;                   ///< of the kind
  std::uint64_t allocations = 0;      ///< calls
  std::uint64_t allocated_bytes = 0;  ///< of those calls
  std::uint64_t frees = 0;            ///< calls
  std::uint64_t freed_bytes = 0;      ///< of those calls
  std::uint64_t live_bytes = 0;       ///< of all live arrays, also of those from before counting began
  std::uint64_t peak_bytes = 0;       ///< the most of them at once since counting began
};

/// The counts since counting began.
struct Counters {
  /// Launches by kind.
  KernelCount parallel_for;
  KernelCount parallel_reduce;
  KernelCount parallel_scan;
  KernelCount graph;
  std::uint64_t fences = 0;           ///< waits for a queue or a device, of tools too
  std::vector<CopyCount> copies;      ///< in order of source and destination; initialisations are fills
  std::vector<MemoryCount> memories;  ///< in order of kind and instance
};

/// Begins to count, from zero; no effect while it counts already.
void start_counting();
/// Stops counting; counters() then returns the final counts.
void stop_counting();
/// The counters as they are now.
Counters counters();
/// The same as the text of a JSON object, with the names of the fields of Counters.
std::string counters_json();

}  // namespace strata::inline STRATA_ABI
