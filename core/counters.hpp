// Counters: how often things happened and how many bytes they touched, by kind. Counting begins on request,
// by the program or by the setting `counters`; until then it costs nothing beyond the branch of every hook.
//
// All functions may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Launches of one kind.
struct KernelCount {
  std::uint64_t calls = 0;
  std::uint64_t items = 0;  ///< work items; of graphs: operations
};

/// Copies from memory of one kind to memory of one kind ("Host", "Cuda").
struct CopyCount {
  std::string source;  ///< empty: the destination was filled with a value
  std::string destination;
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

/// One memory.
struct MemoryCount {
  std::string kind;
  int instance = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
  std::uint64_t live_bytes = 0;  ///< of all live arrays, also of those from before counting began
  std::uint64_t peak_bytes = 0;  ///< the most of them at once since counting began
};

/// What happened since counting began.
struct Counters {
  KernelCount parallel_for;
  KernelCount parallel_reduce;
  KernelCount parallel_scan;
  KernelCount graph;
  std::uint64_t fences = 0;
  std::vector<CopyCount> copies;  ///< in order of source and destination; initialisations are fills
  std::vector<MemoryCount> memories;
};

/// Begins to count, from zero; goes on where it counts already.
void start_counting();
/// Stops counting; counters() then returns what was counted.
void stop_counting();
/// The counters as they are now.
Counters counters();
/// The same as the text of a JSON object, with the names of the fields of Counters.
std::string counters_json();

}  // namespace strata::inline STRATA_ABI
