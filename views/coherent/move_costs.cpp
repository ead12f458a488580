// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/move_costs.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// From one memory to another, through the host where there is no direct way.
double seconds_of_copy(const MemoryLinks& links, MemoryId from, MemoryId to, double bytes) {
  if (links.joins(from, to)) return links.seconds(from, to, bytes);
  return links.seconds(from, host_memory, bytes) + links.seconds(host_memory, to, bytes);
}

bool is_copied(const CoherentState& array) { return !array.is_shared() && !array.is_explicit(); }

double bytes_of(const CoherentState& array, const Box& box) {
  return static_cast<double>(box.size()) * static_cast<double>(array.shape.element_bytes);
}

}  // namespace

double seconds_to_move(CoherentState& array, const ArrayPart& part, AccessMode mode, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  if (!is_copied(array)) return 0;
  const MemoryId there = coherence.memory_of(device);
  const MemoryLinks& links = coherence.memories.links();
  double seconds = 0;
  part.visit([&](const Box& box) {
    array.directory.map().visit(box, [&](const Box& piece, MemorySet holders) {
      if (holders.empty() || holders.contains(there)) return;
      double least = -1;
      holders.visit([&](MemoryId holder) {
        const double bytes = bytes_of(array, piece);
        const double both = (reads(mode) ? seconds_of_copy(links, holder, there, bytes) : 0) +
                            (writes(mode) ? seconds_of_copy(links, there, holder, bytes) : 0);
        if (least < 0 || both < least) least = both;
      });
      seconds += least;
    });
  });
  return seconds;
}

std::vector<ResidentRows> rows_lying(CoherentState& array, const Box& box,
                                     const std::vector<DeviceInstance*>& devices) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  std::vector<ResidentRows> runs(devices.size(), ResidentRows{0, 0});
  if (!is_copied(array) || box.rank() == 0) return runs;
  MemorySet all;
  for (DeviceInstance* const device : devices) all = all.with(coherence.memory_of(*device));
  array.directory.map().visit(box, [&](const Box& piece, MemorySet holders) {
    if (piece.empty() || (holders & all) == all) return;
    for (std::size_t k = 0; k < devices.size(); ++k) {
      if (!holders.contains(coherence.memory_of(*devices[k]))) continue;
      const ResidentRows rows{piece.lower(0), piece.upper(0)};
      runs[k] = runs[k].begin < runs[k].end ? cover(runs[k], rows) : rows;
    }
  });
  return runs;
}

}  // namespace strata::inline STRATA_ABI::detail
