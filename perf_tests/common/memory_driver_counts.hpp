// What the patterns of memory_patterns.hpp move as the driver counts it (CUPTI), beside Strata's own counts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "baselines/copy_counter.hpp"
#include "common/memory_modes.hpp"

namespace perf {

/// One run: what Strata counted, and the driver.
struct CountedRun {
  Moved strata;
  Moved copies;  // of the driver
  Moved pages;   // of managed memory, whatever moved them
  std::uint64_t gpu_faults = 0, host_faults = 0;
};

/// Strata counts what is declared; the driver moves whole pages of each array, up to 2 MiB of them at its
/// ends.
inline bool agree(const CountedRun& run, strata::MemoryMode mode, std::uint64_t arrays) {
  if (mode != strata::MemoryMode::Managed) return run.strata == run.copies && run.pages == Moved{};
  const std::uint64_t more = arrays * (std::uint64_t{2} << 20);
  const auto within = [&](std::uint64_t strata, std::uint64_t driver) {
    return strata <= driver && driver <= strata + more;
  };
  return run.copies == Moved{} && within(run.strata.in, run.pages.in) &&
         within(run.strata.out, run.pages.out);
}

inline std::string in_words(const CountedRun& run) {
  return "Strata counts " + in_words(run.strata) + ", the driver copies of " + in_words(run.copies) +
         " and pages of " + in_words(run.pages);
}

/// f(what, value, unit) for the figures of a report.
template <class F>
void visit_figures(const CountedRun& run, strata::MemoryMode mode, const F& f) {
  const bool moves_pages = mode == strata::MemoryMode::Managed;
  f("bytes in by Strata", run.strata.in, "bytes");
  f("bytes in by the driver", moves_pages ? run.pages.in : run.copies.in, "bytes");
  f("bytes out by Strata", run.strata.out, "bytes");
  f("bytes out by the driver", moves_pages ? run.pages.out : run.copies.out, "bytes");
  if (!moves_pages) return;
  f("faults of the GPU", run.gpu_faults, "faults");
  f("faults of the host", run.host_faults, "faults");
}

/// The second run of arrays: values that nobody has written are not copied.
template <class D, class T>
CountedRun count_by_driver(CopyCounter& counter, ModeArrays<D, T>& arrays) {
  arrays.prepare();
  static_cast<void>(arrays.run());
  arrays.prepare();
  strata::wait(D{});
  const Moved before = moved_by(arrays.counters());
  counter.begin();
  static_cast<void>(arrays.run());
  strata::wait(D{});
  const CopyCounter::Bytes copies = counter.end();
  const CopyCounter::Pages pages = counter.pages();
  const Moved after = moved_by(arrays.counters());
  const auto count = [](strata::index_t value) { return static_cast<std::uint64_t>(value); };
  return {{after.in - before.in, after.out - before.out},
          {count(copies.to_devices), count(copies.from_devices)},
          {count(pages.asked.to_devices + pages.faulted.to_devices),
           count(pages.asked.from_devices + pages.faulted.from_devices)},
          count(pages.gpu_faults),
          count(pages.host_faults)};
}

}  // namespace perf
