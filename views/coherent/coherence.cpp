// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <strata/core/allocation_report.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/managed_pages.hpp>
#include <strata/views/coherent/task_function.hpp>
#include <strata/views/copy.hpp>

namespace strata::inline STRATA_ABI::detail {

Coherence& Coherence::get() {
  static Coherence& coherence = *new Coherence;  // arrays in static storage may outlive everything else
  return coherence;
}

// ---- arrays

namespace {

PageFaults counted_faults(const CoherentState& array) {
  PageFaults faults = faults_of(array);
  const PageFaults& before = array.forgotten_faults;
  faults.count -= before.count;
  faults.to_devices -= before.to_devices;
  faults.to_host -= before.to_host;
  return faults;
}

}  // namespace

void Coherence::add(CoherentState& array) {
  require_no_task_function("a new coherent array");
  const std::lock_guard lock(mutex);
  const auto unused = std::find(arrays_.begin(), arrays_.end(), nullptr);
  array.number = static_cast<int>(unused - arrays_.begin());
  if (unused == arrays_.end()) arrays_.push_back(&array);
  else *unused = &array;
}

void Coherence::remove(CoherentState& array) {
  const std::lock_guard lock(mutex);
  // Copies under way may still use the host's memory.
  WorkList after;
  array.order(host_memory).before_write(array.shape.domain, after);
  Leftover leftover{array.main.storage, array.pinned, {}};
  // Memory of a device, which the host reaches, is freed by its owner after all work that there is.
  const bool is_freed_later = array.main.space.shared && array.main.storage.get() != nullptr;
  EventList events;
  if (!is_freed_later)
    for (const Work work : after) tracker.events_of(work, events);
  leftover.until.assign(events.begin(), events.end());
  if (!leftover.until.empty()) {
    if (leftover.storage.get() != nullptr) {
      leftovers_.push_back(std::move(leftover));
    } else {
      for (const Ref<EventState>& event : leftover.until) try {
          event->wait();
        } catch (...) {
          tracker.set_failed();  // the next use of what failed with it reports it
        }
    }
  }
  for (MemoryId m = 1; m < memories.size(); ++m)
    if (memories[m].residency.bytes(array.number) > 0) memories[m].residency.dropped(array.number);
  array.stays_in.visit([&](MemoryId m) { memories[m].residency.unpin(array.number); });
  totals.faults += counted_faults(array);
  arrays_[static_cast<std::size_t>(array.number)] = nullptr;
  drop_leftovers();
  if (std::all_of(arrays_.begin(), arrays_.end(), [](CoherentState* a) { return a == nullptr; })) {
    arrays_.clear();
    memories.clear();
    tracker = WorkTracker();
  }
}

void Coherence::drop_leftovers() {
  std::erase_if(leftovers_, [](const Leftover& leftover) {
    return std::all_of(leftover.until.begin(), leftover.until.end(),
                       [](const Ref<EventState>& event) { return event->complete(); });
  });
}

void Coherence::add_faults(TransferCounters& counters) const {
  for (const CoherentState* const array : arrays_)
    if (array != nullptr) counters.faults += counted_faults(*array);
}

void Coherence::forget_counts() {
  totals = {};
  for (CoherentState* const array : arrays_)
    if (array != nullptr) array->forgotten_faults = faults_of(*array);
}

void Coherence::set_budget(DeviceInstance& device, index_t bytes) {
  require_no_task_function("coherent::set_budget");
  const std::lock_guard lock(mutex);
  const SpaceId space = device.space();
  std::erase_if(budgets_, [&](const Budget& known) { return known.space == space; });
  budgets_.push_back({space, bytes});
  for (MemoryId m = 1; m < memories.size(); ++m)
    if (memories[m].device == &device) memories[m].residency.set_budget(bytes);
  wake_waiting();
}

MemoryId Coherence::memory_of(DeviceInstance& device) {
  const int known = memories.size();
  const MemoryId memory = memories.id_of(device);
  if (memories.size() > known)
    for (const Budget& budget : budgets_)
      if (budget.space == device.space()) memories[memory].residency.set_budget(budget.bytes);
  return memory;
}

// ---- room

void Coherence::keep_in(CoherentState& array, MemoryId memory) {
  if (array.stays_in.contains(memory)) return;
  memories[memory].residency.pin(array.number);
  array.stays_in = array.stays_in.with(memory);
}

bool Coherence::wait_to_move(std::unique_lock<std::mutex>& lock, CoherentState& array, MemoryId memory,
                             ResidentRows rows) {
  const auto is_there = [&](const HostUse& use) { return use.memory == memory; };
  const auto moves = [&] {
    Instance& instance = array.instance(memory);
    return !instance.growth(array.shape, *memories[memory].device, array.label.c_str(), rows).in_place;
  };
  for (bool waited = false;; waited = true) {
    const auto use = std::find_if(array.host_uses.begin(), array.host_uses.end(), is_there);
    if (use == array.host_uses.end() || !moves()) return waited;
    wait_for_threads(lock, ThreadWaits::Kind::HostUse, {use->thread});
  }
}

index_t Coherence::reside(CoherentState& array, MemoryId memory, ResidentRows rows) {
  if (rows.begin >= rows.end) return 0;
  Instance& instance = array.instance(memory);
  DeviceMemory& room = memories[memory];
  for (;;) {
    const Instance::Growth growth = instance.growth(array.shape, *room.device, array.label.c_str(), rows);
    if (growth.rows.begin == instance.rows().begin && growth.rows.end == instance.rows().end) break;
    if (!make_room(memory, growth.bytes)) return growth.bytes;
    Instance old;
    if (instance.grow(array.shape, *room.device, array.label.c_str(), growth, old)) {
      array.memory_changed();
      room.residency.grown(array.number, growth.bytes);
      if (old.has_memory()) {
        try {
          move_values(array, memory, old);
        } catch (...) {  // the old block has all values as before
          instance = old;
          room.residency.grown(array.number, -growth.bytes);
          throw;
        }
      }
      break;
    }
    // Others hold memory there, too: what the budget allows need not be there.
    if (!evict_least_used(memory)) return growth.bytes;
  }
  if (const index_t more = instance.ask(array.shape, rows); more > 0)
    count(array, &TransferCounters::allocated, more);
  room.residency.used(array.number);
  return 0;
}

bool Coherence::make_room(MemoryId memory, index_t bytes) {
  std::vector<int> victims;
  const auto is_clean = [&](int number) {
    return arrays_[static_cast<std::size_t>(number)]->directory.is_clean(memory);
  };
  if (!memories[memory].residency.make_room(bytes, is_clean, victims)) return false;
  for (const int victim : victims) evict(*arrays_[static_cast<std::size_t>(victim)], memory);
  return true;
}

bool Coherence::evict_least_used(MemoryId memory) {
  const Residency& residency = memories[memory].residency;
  const Residency::Resident* least = nullptr;
  const std::vector<Residency::Resident> residents = residency.residents();
  for (const Residency::Resident& resident : residents)
    if (resident.pins == 0 && (least == nullptr || resident.last_use < least->last_use)) least = &resident;
  if (least == nullptr) return false;
  evict(*arrays_[static_cast<std::size_t>(least->array)], memory);
  return true;
}

void Coherence::fail_room(const CoherentState& array, MemoryId memory, index_t bytes, const char* why) {
  const Residency& residency = memories[memory].residency;
  const index_t held = residency.bytes(), budget = residency.budget();
  std::string text = "no room for " + string_from_bytes(bytes) + " more of \"" + array.label + "\" on " +
                     memories.name(memory) + ": coherent arrays hold " + string_from_bytes(held, budget) +
                     " of the " + string_from_bytes(budget, held) + " that they may. Resident:";
  const char* between = " ";
  for (const Residency::Resident& resident : residency.residents()) {
    text += between + ("\"" + arrays_[static_cast<std::size_t>(resident.array)]->label + "\" " +
                       string_from_bytes(resident.bytes) + (resident.pins > 0 ? " (in use)" : ""));
    between = ", ";
  }
  if (residency.residents().empty()) text += " nothing";
  throw OutOfMemory(
      text + why + "; split the work over more devices, launch parts of it, or raise coherent::set_budget. " +
      largest_allocations(memories[memory].device->space()));
}

void Coherence::write_back(CoherentState& array, MemoryId memory) {
  const std::vector<Box> boxes = array.directory.only_in(memory, array.shape.domain);
  // One that waits for work may yet not begin, and these values would be lost.
  for (const Box& box : array.without_kernels(host_memory, boxes, true)) {
    const Work work = copy(array, box, memory, host_memory);
    array.directory.copied(host_memory, box);
    array.log_copy(host_memory, box, work);
  }
}

void Coherence::evict(CoherentState& array, MemoryId memory) {
  write_back(array, memory);
  const Box& domain = array.shape.domain;
  wait_for_work(array, host_memory, domain);
  wait_for_work(array, memory, domain);
  array.give_up(memory, domain);
  array.instance(memory).drop();
  array.memory_changed();
  memories[memory].residency.dropped(array.number);
}

void Coherence::wait_for_work(CoherentState& array, MemoryId memory, const Box& box) {
  WorkList after;
  array.order(memory).before_write(box, after);
  EventList events;
  for (const Work work : after) tracker.events_of(work, events);
  for (const Ref<EventState>& event : events) {
    try {
      event->wait();
    } catch (...) {
      recover();
    }
  }
  if (!tracker.all_ended(after)) check_failures();
}

// ---- copies

CopySide Coherence::side(CoherentState& array, MemoryId memory, const LayoutDescriptor& layout, char* base) {
  if (memory == host_memory)
    return {array.main.base, array.main.space, &layout, array.label.c_str(), array.main.device};
  DeviceInstance* const device = memories[memory].device;
  return {base != nullptr ? base : array.instance(memory).base(),
          device->space(),
          &layout,
          array.label.c_str(),
          device,
          array.adopted_on != device};
}

void Coherence::enqueue_copy(QueueState& queue, CoherentState& array, const Box& box, MemoryId from,
                             MemoryId to, char* from_base) {
  const LayoutDescriptor layout = array.shape.layout_of(box);
  copy_arrays(side(array, to, layout), side(array, from, layout, from_base),
              static_cast<std::size_t>(array.shape.element_bytes), &queue);
  count(array,
        from == to            ? &TransferCounters::same_device
        : from == host_memory ? &TransferCounters::host_to_device
        : to == host_memory   ? &TransferCounters::device_to_host
                              : &TransferCounters::peer,
        array.shape.bytes_of(box));
}

QueueState& Coherence::queue_for(MemoryId from, MemoryId to, index_t bytes, const WorkList& after,
                                 const CopyLines& lines) {
  const bool is_upload = from == host_memory;
  if (!is_upload && to != host_memory) return *memories[to].peer;
  DeviceMemory& memory = memories[is_upload ? to : from];
  const bool is_short = memories.links().is_short(from, to, static_cast<double>(bytes));
  for (const CopyLines::Line& line : lines.before)
    if (is_upload && line.memory == to && (is_short || line.takes_long_copies()) &&
        !tracker.waits_elsewhere(*line.queue, after))
      return *line.queue;
  constexpr index_t most_awaited = index_t{1} << 20;
  if (is_short || (lines.are_awaited && bytes <= most_awaited)) {
    if (lines.kernels != nullptr && !tracker.waits_elsewhere(*lines.kernels, after)) return *lines.kernels;
    QueueState* const last =
        is_upload || !lines.after_kernels ? nullptr : tracker.queue_that_ends_with(after);
    if (last != nullptr && &last->instance() == memory.device) return *last;
  }
  return is_upload ? *memory.upload : *memory.download;
}

Work Coherence::copy(CoherentState& array, const Box& box, MemoryId from, MemoryId to, char* from_base,
                     const CopyLines& lines) {
  WorkList after;
  NeededWorks needs;
  array.order(from).before_read(box, needs);
  for (const Work work : needs) after.add(work);
  array.order(to).before_write(box, after);
  QueueState& queue = queue_for(from, to, array.shape.bytes_of(box), after, lines);
  tracker.wait_for(queue, after);
  enqueue_copy(queue, array, box, from, to, from_base);
  const Work work = tracker.add_copy(queue, after, needs);
  array.order(from).read(box, work);
  array.order(to).written(box, work);
  return work;
}

void Coherence::enqueue(std::span<const PlannedCopy> copies, std::span<CoherentState* const> arrays,
                        const CopyLines& lines) {
  for (const PlannedCopy& planned : copies) {
    CoherentState& array = *arrays[static_cast<std::size_t>(planned.array)];
    const Work work = copy(array, planned.box, planned.from, planned.to, nullptr, lines);
    array.directory.copied(planned.to, planned.box);
    array.log_copy(planned.to, planned.box, work);
  }
}

void Coherence::copy_out(CoherentState& array, MemoryId memory, const Box& box, const CopyLines& lines) {
  const Work work = copy(array, box, memory, host_memory, nullptr, lines);
  array.directory.copied(host_memory, box);
  array.log_copy(host_memory, box, work);
}

void Coherence::move_values(CoherentState& array, MemoryId memory, const Instance& old) {
  std::vector<Box> held;
  array.directory.map().visit(array.shape.domain, [&](const Box& box, MemorySet holders) {
    if (holders.contains(memory)) held.push_back(box);
  });
  merge(held);
  // Noted when all are enqueued: until then the old block may become the array's again.
  std::vector<Work> works;
  for (const Box& box : held) works.push_back(copy(array, box, memory, memory, old.base()));
  for (std::size_t k = 0; k < held.size(); ++k) array.log_move(memory, held[k], works[k]);
}

// ---- failures

namespace {

// The error with a text after its own; a failed check stays one.
std::exception_ptr error_with(const std::exception_ptr& original, const std::string& more) {
  try {
    if (original) std::rethrow_exception(original);
  } catch (const OutOfBounds& error) {
    return std::make_exception_ptr(OutOfBounds(error.what() + more));
  } catch (const AssertionFailed& error) {
    return std::make_exception_ptr(AssertionFailed(error.what() + more));
  } catch (const std::exception& error) {
    return std::make_exception_ptr(DataLost(error.what() + more));
  } catch (...) {
  }
  return std::make_exception_ptr(DataLost("work on coherent arrays failed" + more));
}

}  // namespace

void Coherence::recover() {
  const WorkTracker::Recovery recovery = tracker.recover();
  ++recoveries;
  std::string lost;
  std::vector<CoherentState*> changed;
  for (CoherentState* const array : arrays_) {
    if (array == nullptr) continue;
    bool undone = false;
    const std::vector<Box> boxes = array->rebuild(recovery, undone);
    for (const Box& box : boxes)
      lost += (lost.empty() ? "" : ", ") + to_string(box) + " of \"" + array->label + "\"";
    if (!boxes.empty()) ++array->losses;
    if (undone || !boxes.empty()) changed.push_back(array);
  }
  drop_leftovers();
  const auto report = [&](const std::exception_ptr& error) {
    const std::uint64_t here = acting_thread_number();
    // Where two failures were reported to different threads, neither knows both.
    for (CoherentState* const array : changed) {
      const bool knows = !array->failure.error || array->failure.is_reported_to(here);
      if (knows) array->failure = {error, {here}};
      else array->add_failure(error);
    }
    std::rethrow_exception(error);
  };
  if (lost.empty() && recovery.error) report(recovery.error);
  if (!lost.empty())
    lost = "; lost with it, being nowhere else: " + lost + ". Write them anew before they are read";
  report(error_with(recovery.error, lost));
  std::abort();  // not reached
}

void Coherence::throw_failure(CoherentState& array) {
  const CoherentState::Failure failure = std::exchange(array.failure, {});
  const std::uint64_t here = acting_thread_number();
  if (failure.is_reported_to(here)) return;
  // One error is reported once, also where it is that of several arrays.
  for (CoherentState* const other : arrays_)
    if (other != nullptr && other->failure.error == failure.error) other->failure.reported_to.push_back(here);
  std::rethrow_exception(failure.error);
}

}  // namespace strata::inline STRATA_ABI::detail
