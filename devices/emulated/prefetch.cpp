// Prefetches by emulated queues: pages of managed memory move in the order of the queue.
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/managed_pages.hpp>
#include <strata/devices/emulated/platform.hpp>
#include <strata/devices/emulated/queue.hpp>
#include <strata/devices/recording.hpp>

namespace strata::inline STRATA_ABI::detail {

std::size_t EmulatedQueue::prefetch(const ManagedRange* ranges, int count, bool to_host) {
  require_running("a prefetch");
  if (current_recording != nullptr && &current_recording->queue == this)
    throw Error("a prefetch of managed memory on Emulated{" + std::to_string(core_->instance()) +
                "}: a graph cannot hold it; do it before or after the recording");
  std::vector<ManagedRange> asked;
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    const ManagedRange& range = ranges[i];
    if (range.bytes == 0) continue;
    const std::size_t pages = managed_pages::page_bytes_of(range.begin, range.bytes);
    if (pages == 0)
      throw OutOfBounds(
          "a prefetch of " + std::to_string(range.bytes) + " bytes on Emulated{" +
          std::to_string(core_->instance()) +
          "}: they are not, or not all, of one array in managed memory of Emulated; prefetch what "
          "shared_memory() has allocated");
    if (!range.stays || range.at_host) bytes += pages;
    asked.push_back(range);
  }
  if (asked.empty() || !instance_.has_concurrent_managed_access()) return 0;
  count_call(&CallCounts::prefetches);
  const auto place = to_host ? managed_pages::Place::Host : managed_pages::place_of(core_->instance());
  QueueCore::Work work{[ranges = std::move(asked), place] {
    for (const ManagedRange& range : ranges) managed_pages::prefetch(range, place);
  }};
  work.placed.is_prefetch = true;
  submit("prefetch", bytes, work, [&](Platform& platform) {
    const double time = platform.timeline.enter(core_->time);
    return TimeSpan{time, time};
  });
  return bytes;
}

}  // namespace strata::inline STRATA_ABI::detail
