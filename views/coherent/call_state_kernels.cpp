// The kernels of a call: what they wait for, where they find their arrays, and what is noted of them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/call_state.hpp>
#include <strata/views/coherent/managed_pages.hpp>

namespace strata::inline STRATA_ABI::detail {

ResidentRows CallState::rows(int part, int use) const {
  const Use& u = use_of(part, use);
  return u.array->shape.rows_of(u.region);
}

void CallState::find_memory(Part& part) {
  for_uses(part, [&](Use& use) {
    const CoherentState::Main& main = use.array->main;
    if (part.is_host || use.region.empty()) use.base = main.base;
    else if (use.memory == host_memory) use.base = part.device->address_in_kernels(main.base, main.space);
    else use.base = use.array->instance(use.memory).base();
  });
}

// What work has to come before work on `touched`.
void CallState::collect(const Use& use, const ArrayPart& touched, WorkList& after) {
  const WorkOrder& order = use.array->order(use.memory);
  touched.visit([&](const Box& box) {
    if (writes(use.mode)) order.before_write(box, after);
    else order.before_read(box, after);
  });
}

bool CallState::begin_early([[maybe_unused]] int number, [[maybe_unused]] std::span<const ArrayPart> regions,
                            [[maybe_unused]] bool timed) {
  if constexpr (checked_build) {
    return false;  // what is marked is marked as a whole
  } else {
    Part& part = parts_[static_cast<std::size_t>(number)];
    if (part.unlocked || moves_pages(part)) return false;
    WorkTracker& tracker = Coherence::get().tracker;
    const int mine = tracker.number_of(*part.queue);
    find_memory(part);
    WorkList early, later;
    std::size_t k = 0;
    for_uses(part, [&](Use& use) {
      collect(use, regions[k++], early);
      collect(use, use.region, later);
    });
    const auto is_over = [&](Work work) { return work.queue == mine || tracker.ended(work); };
    early.forget(is_over);
    later.forget(is_over);
    if (early == later) return false;
    part.state = Part::State::Begun;
    note_call_begun();
    part.early = true;
    tracker.wait_for(*part.queue, early);
    part.after = std::move(early);
    if (timed) part.timing.begin = part.queue->record_timed();
    return true;
  }
}

void CallState::begin(int number, bool timed) {
  Part& part = parts_[static_cast<std::size_t>(number)];
  if (!part.early) find_memory(part);
  part.joins = !timed && can_join(number);
  if (part.joins) {
    Coherence::get().tracker.let_last_come_later(*part.queue);
    part.state = Part::State::Begun;
    note_call_begun();
    return;
  }
  for_uses(part, [&](Use& use) {
    const WorkOrder& order = use.array->order(use.memory);
    use.region.visit([&](const Box& box) {
      if (writes(use.mode)) order.before_write(box, part.after);
      if (reads(use.mode)) order.before_read(box, part.needs);
    });
  });
  for (const Work work : part.needs) part.after.add(work);
  if (part.is_host) {
    if (Coherence::get().recoveries != recoveries_) check_is_there(part);
    return begin_on_host(part, timed);
  }
  part.state = Part::State::Begun;
  note_call_begun();
  Coherence::get().tracker.wait_for(*part.queue, part.after);
  bring_pages(part);
  note_link_use(part);
  mark(part);
  if (timed && !part.early) part.timing.begin = part.queue->record_timed();
  if (part.unlocked) {
    mark_begun(part);
    lock_.unlock();
  }
}

void CallState::mark_begun(Part& part) {
  for_uses(part, [&](const Use& use) {
    for (HostUse& mark : use.array->host_uses)
      if (mark.number == part.host_use) mark.has_begun = true;
  });
}

// Waits for what the part needs, without the lock.
void CallState::begin_on_host(Part& part, bool timed) {
  Coherence& coherence = Coherence::get();
  EventList events;
  for_uses(part, [&](const Use& use) {
    if (use.array->mode == MemoryMode::Managed)
      bring_pages_to_host(*use.array, use.region, use.mode, part.after);
  });
  for (const Work work : part.after) coherence.tracker.events_of(work, events);
  coherence.check_failures();
  if (events.empty()) mark_begun(part);
  lock_.unlock();
  const auto report_failures = [&] {
    for (const Use& use : uses_) coherence.report_failure(*use.array);
  };
  for (const Ref<EventState>& event : events) {
    try {
      event->wait();
    } catch (...) {
      lock_.lock();
      if (coherence.recoveries != recoveries_) {  // another thread has set it right
        report_failures();
        throw;
      }
      coherence.tracker.set_failed();
      coherence.recover();
    }
  }
  if (!events.empty()) {
    lock_.lock();
    if (!coherence.tracker.all_ended(part.after)) coherence.check_failures();
    if (coherence.recoveries != recoveries_) check_reads(part);
    mark_begun(part);
    lock_.unlock();
  }
  part.state = Part::State::Begun;
  note_call_begun();
  mark(part);
  if (timed) part.timing.begin = part.queue->record_timed();
}

// What ran without the lock has ended. After a failure elsewhere directories were made anew of what had ended
// by then.
void CallState::claim_again(Part& part) {
  for_uses(part, [&](Use& use) {
    if (!use.claimed) return;
    use.region.visit([&](const Box& box) {
      use.array->directory.written(use.memory, box);
      use.array->log_kernel(use.memory, box, {});
    });
  });
}

constinit thread_local CallState::Launch* CallState::noted_launch = nullptr;

void CallState::end(int number) {
  Part& part = parts_[static_cast<std::size_t>(number)];
  if (part.is_host) {
    if (part.timing.begin) part.timing.end = part.queue->record_timed();
    lock_.lock();
    claim_again(part);
    end_host_uses(part);
    part.state = Part::State::Ended;
  } else if (part.joins && Coherence::get().tracker.extend(*part.queue, part.work)) {
    if (noted_launch != nullptr)
      *noted_launch = {part.work, Coherence::get().tracker.last_event(*part.queue),
                       Coherence::get().recoveries};
    part.state = Part::State::Ended;
  } else {
    if (part.joins) {  // that has ended since begin()
      part.joins = false;
      part.after.add(part.work);
      part.needs.add(part.work);
    }
    if (part.unlocked) end_wait(part);
    const Ref<EventState> event = part.timing.begin ? part.queue->record_timed() : part.queue->record();
    if (part.timing.begin) part.timing.end = event;
    const Work work = Coherence::get().tracker.add(*part.queue, event, part.after, part.needs);
    part.work = work;
    if (noted_launch != nullptr) *noted_launch = {work, event, Coherence::get().recoveries};
    part.state = Part::State::Ended;
    for_uses(part, [&](Use& use) {
      WorkOrder& order = use.array->order(use.memory);
      use.region.visit([&](const Box& box) {
        if (writes(use.mode)) order.written(box, work);
        else order.read(box, work);
        if (use.claimed && !part.unlocked) use.array->log_kernel(use.memory, box, work);
      });
    });
  }
  if (number + 1 == static_cast<int>(parts_.size())) copy_out();
}

// After others have recovered from a failure, since this call was prepared: what the part reads need not be
// where it was to come, though nothing of its array is lost.
void CallState::check_reads(const Part& part) {
  Coherence& coherence = Coherence::get();
  for (const Use& use : uses_) coherence.report_failure(*use.array);
  if (coherence.tracker.any_undone(part.needs, coherence.recoveries - recoveries_)) fail_reads();
}
void CallState::fail_reads() const {
  throw Error(
      std::string("the launch of ") + name() +
      " was to read what did not come to its device, as a copy or other work failed; launch it again");
}

// The same of a part that others before it kept waiting: orders of work were made anew, too.
void CallState::check_is_there(const Part& part) {
  for_uses(part, [&](const Use& use) {
    Coherence::get().report_failure(*use.array);
    bool lacks = false;
    if (reads(use.mode))
      use.region.visit([&](const Box& box) { lacks = lacks || use.array->directory.lacks(use.memory, box); });
    if (lacks) fail_reads();
  });
}

// The end of a launch that waits for its result: its kernel has ended well, and so has all that it came
// after. Where that failed on this queue, and another thread cleared the queue's error, the kernel ran all
// the same, and the result is worth nothing.
void CallState::end_wait(Part& part) {
  lock_.lock();
  Coherence& coherence = Coherence::get();
  if (!coherence.tracker.all_ended(part.after)) coherence.check_failures();
  if (coherence.recoveries != recoveries_) check_reads(part);  // or another thread has undone it
  claim_again(part);
  end_host_uses(part);
}

std::vector<UnwrittenBox> CallState::unwritten(int number) const {
  const Part& part = parts_[static_cast<std::size_t>(number)];
  std::vector<UnwrittenBox> boxes;
  for (int k = 0; k < part.uses; ++k) {
    const Use& use = use_of(number, k);
    if (use.mode != AccessMode::Out) continue;
    use.region.visit([&](const Box& box) { boxes.push_back(unwritten_box(*use.array, box, use.base)); });
  }
  return boxes;
}

// What was to be written only is marked, so that what the kernel leaves out is found.
void CallState::mark([[maybe_unused]] Part& part) {
  if constexpr (checked_build)
    for_uses(part, [&](const Use& use) {
      if (use.mode != AccessMode::Out) return;
      const CoherentState& array = *use.array;
      // The host does it itself: the queue of the device that the main copy is near has work and failures of
      // its own.
      DeviceInstance& device = part.is_host ? Serial().backend() : *part.device;
      QueueState& queue = part.is_host ? device.default_queue() : *part.queue;
      use.region.visit([&](const Box& box) {
        mark_unwritten(unwritten_box(array, box, use.base), device,
                       part.is_host ? array.main.space : device.space(), queue);
      });
    });
}

// Of implicit arrays: after the call all is the host's again, whatever the host has already. A launch on one
// device copies whole operands, one on several each its own part.
void CallState::copy_out() {
  Coherence& coherence = Coherence::get();
  const bool any = std::any_of(uses_.begin(), uses_.end(),
                               [](const Use& use) { return use.array->mode == MemoryMode::Implicit; });
  if (!any) return;
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      CoherentState& array = *use.array;
      if (array.mode != MemoryMode::Implicit || use.memory == host_memory) return;
      if (!array.instance(use.memory).has_memory()) return;
      const Box& domain = array.shape.domain;
      if (use.region.empty()) return;  // nothing was copied in
      // The host may be reading what the launch has only read, and writing what lies beside.
      const bool is_host_away = array.host_uses.empty();
      CopyLines lines;
      if (&part.queue->instance() == part.device) lines.kernels = part.queue;
      // After a failure elsewhere, while a host ran its part, what was copied in need not be there any more.
      const auto copy_box = [&](const Box& box) {
        if (array.directory.holds(use.memory, box)) return coherence.copy_out(array, use.memory, box, lines);
        std::vector<Box> held;
        array.directory.map().visit(box, [&](const Box& b, MemorySet memories) {
          if (memories.contains(use.memory)) held.push_back(b);
        });
        merge(held);
        for (const Box& b : held) coherence.copy_out(array, use.memory, b, lines);
      };
      if (is_host_away && parts_.size() == 1 && copies_whole(use)) copy_box(domain);
      else if (is_host_away || writes(use.mode)) use.region.visit(copy_box);
    });
  for (const Part& part : parts_)
    for_uses(part, [&](const Use& use) {
      CoherentState& array = *use.array;
      if (array.mode != MemoryMode::Implicit || use.memory == host_memory) return;
      const auto drop = [&](const Box& box) {
        coherence.wait_for_work(array, host_memory, box);
        array.give_up(use.memory, box);  // the memory stays for the next call
      };
      if (copies_whole(use)) drop(array.shape.domain);
      else use.region.visit(drop);
    });
}

}  // namespace strata::inline STRATA_ABI::detail
