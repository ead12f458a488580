// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/views/coherent/call_state.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/managed_pages.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Bytes that move to the host when it has waited for the work before.
constexpr std::size_t most_after_waiting = std::size_t{16} << 20;

// Whether another device has used pages of the box last, so that a reader is to share them with it. The host
// is left out: pages that it shares with a device cost far more to write again than to move.
bool others_read(const CoherentState& array, const Box& box, AccessMode mode, MemoryId memory) {
  bool any = false;
  if (writes(mode) || memory == host_memory) return any;
  array.pages.map().visit(box, [&](const Box&, MemorySet holders) {
    any = any || !holders.without(host_memory).without(memory).empty();
  });
  return any;
}

// A device that writes its part of a launch on several devices is the home of the pages of that part, until a
// use that is not split.
void note_home(CoherentState& array, const ArrayPart& part, AccessMode mode, MemoryId memory, bool is_split) {
  part.visit([&](const Box& box) {
    const auto is_no_home = [](const Box&, MemorySet home) { return home.empty(); };
    if (is_split && writes(mode)) {
      if (!array.homes.holds_alone(memory, box)) array.homes.written(memory, box);
    } else if (!is_split && !array.homes.map().visit(box, is_no_home)) {
      for (MemoryId m = 1; m < Coherence::get().memories.size(); ++m) array.homes.dropped(m, box);
    }
  });
}

// Calls f(part, stays) for the parts of a box that is used in `memory`, or, where any stays, that it lacks.
// What is only read, and is at home with another device to which there is a link, stays there: otherwise its
// pages would go to and fro with every launch.
template <class F>
void for_parts(const CoherentState& array, const Box& box, AccessMode mode, MemoryId memory, const F& f) {
  if (writes(mode) || memory == host_memory) return f(box, false);
  std::vector<Box> staying, others;
  array.homes.map().visit(box, [&](const Box& part, MemorySet home) {
    bool stays = !home.empty() && !home.contains(memory);
    home.visit([&](MemoryId m) {
      stays = stays && Coherence::get().memories.links().joins(m, memory) && array.pages.holds_alone(m, part);
    });
    if (stays) staying.push_back(part);
    else if (!array.pages.holds(memory, part)) others.push_back(part);
  });
  if (staying.empty()) return f(box, false);
  merge(others);
  for (const Box& part : others) f(part, false);
  for (const Box& part : staying) f(part, true);
}

// Whether nothing needs to be moved for a use in `memory`.
bool are_there(const Directory& pages, const ArrayPart& part, AccessMode mode, MemoryId memory) {
  bool all = true;
  part.visit([&](const Box& box) {
    all = all && (writes(mode) ? pages.holds_alone(memory, box) : pages.holds(memory, box));
  });
  return all;
}

// Launches in a row that reach an array at the host.
constexpr int most_launches_at_host = 2;

// Whether the part stays with the host for a launch on a device, which reaches it over the link. What many
// work items read, or the program asks for, moves at once: it may be read many times.
bool stays_at_host(const CoherentState& array, const ArrayPart& part, const PageUse& use, MemoryId memory) {
  if (!use.by_items || use.is_split || array.is_adopted || array.moves_at_once ||
      array.launches_since_host >= most_launches_at_host)
    return false;
  const std::size_t most = Coherence::get().memories[memory].device->bytes_reached_at_host();
  if (static_cast<std::size_t>(array.shape.bytes()) > most) return false;
  bool all = !part.empty();
  part.visit([&](const Box& box) { all = all && array.pages.holds_alone(host_memory, box); });
  return all;
}

// Whether the device of the queue reaches all of the array where it is.
bool reaches(CoherentState& array, MemoryId memory, QueueState& queue) {
  if (array.reached_from.contains(memory)) return true;
  ManagedRange all{array.main.base, static_cast<std::size_t>(array.shape.bytes()), true, true};
  all.stays = all.at_host = true;
  if (queue.prefetch(&all, 1, false) == 0) return false;
  array.reached_from = array.reached_from.with(memory);
  return true;
}

// Whether the memory has most of the part already. Kernels that claim begin about where they did the last
// time: the rest of the rows, which the host had then, it probably has again.
bool is_mostly_there(const Directory& pages, const ArrayPart& part, MemoryId memory) {
  index_t there = 0, all = 0;
  part.visit([&](const Box& box) {
    pages.map().visit(box, [&](const Box& b, MemorySet holders) {
      all += b.size();
      if (holders.contains(memory)) there += b.size();
    });
  });
  return 2 * there > all;
}

// The bytes of the rows of each box. Values beside the box are kept where the rows have some.
std::vector<ManagedRange> ranges_of(const CoherentState& array, const ArrayPart& part, AccessMode mode,
                                    MemoryId memory, bool is_split) {
  std::vector<ManagedRange> ranges;
  const auto add = [&](const Box& box, bool stays) {
    if (box.empty()) return;
    const ArrayShape::Bytes bytes = array.shape.bytes_of_rows(array.shape.rows_of(box));
    const index_t end = std::min(bytes.end, array.shape.bytes());
    if (bytes.begin >= end) return;
    const bool is_all = array.shape.bytes_of(box) == end - bytes.begin;
    const bool has_others = writes(mode) ? is_split : others_read(array, box, mode, memory);
    ranges.push_back({array.main.base + bytes.begin, static_cast<std::size_t>(end - bytes.begin),
                      reads(mode) || !is_all, writes(mode), has_others, stays});
  };
  part.visit([&](const Box& box) { for_parts(array, box, mode, memory, add); });
  return ranges;
}

std::size_t total_of(const std::vector<ManagedRange>& ranges) {
  std::size_t bytes = 0;
  for (const ManagedRange& range : ranges) bytes += range.bytes;
  return bytes;
}

// Without what stays elsewhere.
index_t moved_bytes_of(const CoherentState& array, const ArrayPart& part, AccessMode mode, MemoryId memory) {
  index_t bytes = 0;
  part.visit([&](const Box& box) {
    for_parts(array, box, mode, memory, [&](const Box& moved, bool stays) {
      if (!stays) bytes += array.shape.bytes_of(moved);
    });
  });
  return bytes;
}

index_t bytes_of(const CoherentState& array, const ArrayPart& part) {
  index_t bytes = 0;
  part.visit([&](const Box& box) { bytes += array.shape.bytes_of(box); });
  return bytes;
}

void count(CoherentState& array, TransferCount TransferCounters::*kind, index_t bytes) {
  (array.counters.*kind).add(bytes);
  (Coherence::get().totals.*kind).add(bytes);
}

}  // namespace

void note_pages(CoherentState& array, const ArrayPart& part, AccessMode mode, MemoryId memory) {
  const auto note = [&](const Box& box, bool stays) {
    if (stays) return;
    if (others_read(array, box, mode, memory)) array.pages.copied(memory, box);
    else array.pages.written(memory, box);
  };
  part.visit([&](const Box& box) { for_parts(array, box, mode, memory, note); });
}

bool bring_pages(CoherentState& array, const ArrayPart& part, const PageUse& use, MemoryId memory,
                 QueueState& queue) {
  const AccessMode mode = use.mode;
  if (!array.main.space.shared) return false;  // memory of the host alone
  note_home(array, part, mode, memory, use.is_split);
  if (are_there(array.pages, part, mode, memory)) return false;
  if (stays_at_host(array, part, use, memory) && reaches(array, memory, queue)) return true;
  const std::vector<ManagedRange> ranges = ranges_of(array, part, mode, memory, use.is_split);
  if (queue.prefetch(ranges.data(), static_cast<int>(ranges.size()), false) > 0 && reads(mode))
    count(array, &TransferCounters::prefetched_to_devices, moved_bytes_of(array, part, mode, memory));
  note_pages(array, part, mode, memory);
  return false;
}

void note_launch(CoherentState& array) {
  if (array.launches_since_host <= most_launches_at_host) ++array.launches_since_host;
}

void bring_pages_to_host(CoherentState& array, const ArrayPart& part, AccessMode mode, WorkList& after) {
  Coherence& coherence = Coherence::get();
  for (MemoryId m = 1; m < coherence.memories.size(); ++m)
    if (!coherence.memories[m].device->has_concurrent_managed_access())
      coherence.memories[m].device->wait_all();
  note_home(array, part, mode, host_memory, false);
  if (array.launches_since_host > 0) array.moves_at_once = array.launches_since_host > most_launches_at_host;
  array.launches_since_host = 0;
  if (are_there(array.pages, part, mode, host_memory)) return;
  MemorySet holders;
  part.visit([&](const Box& box) {
    array.pages.map().visit(box, [&](const Box&, MemorySet memories) { holders = holders | memories; });
  });
  MemoryId from = host_memory;
  holders.without(host_memory).visit([&](MemoryId m) { from = m; });
  if (from != host_memory) {
    const index_t bytes = bytes_of(array, part);
    const std::vector<ManagedRange> ranges = ranges_of(array, part, mode, host_memory, false);
    // What the host waits for next, or has waited for, needs no queue of its own.
    QueueState* const last =
        total_of(ranges) <= most_after_waiting ? coherence.tracker.queue_that_ends_with(after) : nullptr;
    const bool follows = last != nullptr && &last->instance() == coherence.memories[from].device;
    QueueState& queue = follows ? *last : coherence.queue_for(from, host_memory, bytes, after);
    coherence.tracker.wait_for(queue, after);
    if (queue.prefetch(ranges.data(), static_cast<int>(ranges.size()), true) > 0) {
      if (reads(mode)) count(array, &TransferCounters::prefetched_to_host, bytes);
      after.add(coherence.tracker.add(queue, after));
    }
  }
  note_pages(array, part, mode, host_memory);
}

bool moves_after_waiting(const CoherentState& array, const ArrayPart& part, AccessMode mode) {
  return array.main.space.shared && !are_there(array.pages, part, mode, host_memory) &&
         total_of(ranges_of(array, part, mode, host_memory, false)) <= most_after_waiting;
}

PageFaults faults_of(const CoherentState& array) {
  // Memory of the host alone has no pages elsewhere.
  if (array.mode != MemoryMode::Managed || !array.main.space.shared) return {};
  const Allocation* const block = array.main.storage.get();
  if (block == nullptr) return {.is_known = false};  // adopted
  const PageMoves moves = array.main.device->page_moves(block->data);
  return {moves.is_known, moves.faults, moves.to_devices, moves.to_host};
}

bool CallState::moves_pages(const Part& part) {
  bool any = false;
  for_uses(part, [&](const Use& use) { any = any || use.array->mode == MemoryMode::Managed; });
  return any && !part.is_host;
}

// Of arrays that are used where the host has them: reports the accesses that the part declares to a device
// that models time.
void CallState::note_link_use(const Part& part) const {
  index_t read = 0, written = 0;
  for_uses(part, [&](const Use& use) {
    if (!is_at_host(use)) return;
    const index_t bytes = bytes_of(*use.array, use.region);
    if (reads(use.mode)) read += bytes;
    if (writes(use.mode)) written += bytes;
  });
  if (read + written > 0) part.queue->next_kernel_uses_link(read, written);
}

bool CallState::is_link_bound(int number) const {
  const Part& part = parts_[static_cast<std::size_t>(number)];
  bool any = false, once = true;
  for_uses(part, [&](const Use& use) {
    if (!is_at_host(use)) return;
    any = true;
    once = once && use.by_items;  // what many work items read may come from caches
  });
  if (part.is_host || !any || !once) return false;
  index_t at_host = 0, elsewhere = 0;
  for_uses(part, [&](const Use& use) {
    (is_at_host(use) ? at_host : elsewhere) += bytes_of(*use.array, use.region);
  });
  constexpr index_t nearly_all = 8;  // times as much
  return at_host >= nearly_all * elsewhere;
}

// For a kernel that is enqueued next on the part's queue.
void CallState::bring_pages(const Part& part) {
  for_uses(part, [&](Use& use) {
    const ArrayPart& region = shares_rows_ ? use.home : use.region;
    if (use.array->mode != MemoryMode::Managed || region.empty()) return;
    if (shares_rows_ && is_mostly_there(use.array->pages, region, part.memory)) return;
    const bool is_split = shares_rows_ || is_one_of_several_ || parts_.size() > 1;
    use.at_host =
        detail::bring_pages(*use.array, region, {use.mode, use.by_items, is_split}, part.memory, *part.queue);
  });
  if (copies_explicit_ || &part != &parts_.front()) return;  // no launch, or one that was noted
  for (int k = 0; k < part.uses; ++k) {
    const Use* const use = &uses_[static_cast<std::size_t>(part.first_use + k)];
    const auto is_of_array = [&](const Use& other) { return other.array == use->array; };
    if (use->array->mode == MemoryMode::Managed && !use->region.empty() &&
        std::none_of(use - k, use, is_of_array))
      note_launch(*use->array);
  }
}

}  // namespace strata::inline STRATA_ABI::detail
