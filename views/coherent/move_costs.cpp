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

double bytes_lying(CoherentState& array, const ArrayPart& part, DeviceInstance& device) {
  Coherence& coherence = Coherence::get();
  const std::lock_guard lock(coherence.mutex);
  if (!is_copied(array)) return 0;
  const MemoryId there = coherence.memory_of(device);
  double bytes = 0;
  part.visit([&](const Box& box) {
    array.directory.map().visit(box, [&](const Box& piece, MemorySet holders) {
      if (holders.contains(there) && holders.size() < coherence.memories.size())
        bytes += bytes_of(array, piece);
    });
  });
  return bytes;
}

}  // namespace strata::inline STRATA_ABI::detail
