// The end of a call: what it did not do is given up, what it pinned and marked is free again.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/views/coherent/call_state.hpp>

namespace strata::inline STRATA_ABI::detail {

// What is where the part claims to write, were it not for the claim. Not what was there before it: since then
// tasks may have given up a copy that the claim made old.
std::vector<Directory::Part> CallState::before_claim(const Use& use, bool made_anew) {
  const Directory there = made_anew ? use.array->directory : use.array->unclaimed();
  std::vector<Directory::Part> before;
  use.region.visit([&](const Box& box) {
    there.map().visit(box, [&](const Box& b, MemorySet memories) { before.push_back({b, memories}); });
  });
  return before;
}

// What the part was to write and nobody has any more: it was no loss while the part might still write it.
void CallState::report_lost_meanwhile(const Part& part, const Use& use) const {
  std::vector<Box> boxes;
  for (const HostUse& mark : use.array->host_uses)
    if (mark.number == part.host_use && mark.writes)
      for (const Box& box : mark.lost)
        for (const Box& lost : use.array->directory.never_written(box)) boxes.push_back(lost);
  merge(boxes);
  if (boxes.empty()) return;
  std::string text;
  for (const Box& box : boxes) text += (text.empty() ? "" : ", ") + to_string(box);
  ++use.array->losses;
  use.array->add_failure(std::make_exception_ptr(
      DataLost(std::string("the launch of ") + name() + " failed, which was to write anew " + text +
               " of \"" + use.array->label +
               "\": values that other work has lost or given up. Write them anew before they are read")));
}

// Gives up what the part has claimed.
void CallState::undo(Part& part) {
  Coherence& coherence = Coherence::get();
  const bool made_anew = coherence.recoveries != recoveries_;  // without the claims, that is
  const bool begun = part.state == Part::State::Begun;
  if (begun && !part.is_host) {
    follow(part);
    // The error that ends this call may be that of earlier work, whose outcome the next use of an array
    // reports, not a later one.
    coherence.tracker.forget_idle();
  }
  for_uses(part, [&](Use& use) {
    if (!use.claimed) return;
    if (begun || !made_anew) restore(use, begun, made_anew);
    if (part.host_use != 0) report_lost_meanwhile(part, use);
  });
}

// What a kernel may have begun to write is not what it was: memories that have it besides this one have it
// alone.
void CallState::restore(Use& use, bool begun, bool made_anew) {
  std::vector<Directory::Part> before = before_claim(use, made_anew);
  std::string lost;
  if (begun)
    for (Directory::Part& p : before) {
      const MemorySet others = p.memories.without(use.memory);
      if (others.empty() && !p.memories.empty()) lost += (lost.empty() ? "" : ", ") + to_string(p.box);
      p.memories = others;
    }
  use.array->directory.restore(before);
  // Claims are not logged before their kernels are: where none has begun, there is nothing to undo.
  if (!begun) return;
  use.region.visit([&](const Box& box) { use.array->log_drop(use.memory, box); });
  WorkTracker& tracker = Coherence::get().tracker;
  use.array->settle(tracker);
  // What came before has failed, too: whoever recovers finds out what there is.
  if (lost.empty() || (tracker.failed() && !use.array->is_settled())) return;
  ++use.array->losses;
  use.array->add_failure(std::make_exception_ptr(DataLost(
      std::string("the launch of ") + name() + " failed while it may have written " + lost + " of \"" +
      use.array->label + "\", whose values were nowhere else. Write them anew before they are read")));
}

void CallState::retract(int number) {
  Part& part = parts_[static_cast<std::size_t>(number)];
  bool is_marked = false;  // what is written only, over what was there
  if constexpr (checked_build)
    for_uses(part, [&](const Use& use) { is_marked = is_marked || use.mode == AccessMode::Out; });
  if (!is_marked) part.state = Part::State::Waiting;
}

// Of a part that did not finish, some work may have been enqueued: later work that uses the same memory waits
// for it.
void CallState::follow(Part& part) {
  try {
    WorkTracker& tracker = Coherence::get().tracker;
    const Work work = part.joins && tracker.extend(*part.queue, part.work)
                          ? part.work
                          : tracker.add(*part.queue, part.queue->record(), part.after, part.needs);
    for_uses(part, [&](Use& use) {
      use.region.visit([&](const Box& box) { use.array->order(use.memory).written(box, work); });
    });
  } catch (...) {
    Coherence::get().tracker.set_failed();
  }
}

// Gives up what the call has not done, and all that it has pinned and marked.
void CallState::release() {
  Coherence& coherence = Coherence::get();
  if (!lock_.owns_lock()) {
    const bool prepared =
        std::any_of(uses_.begin(), uses_.end(), [](const Use& use) { return use.pinned || use.claimed; }) ||
        std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.host_use != 0; });
    if (!prepared) return;
    lock_.lock();
  }
  bool ended = true;
  for (Part& part : parts_) {
    if (part.state != Part::State::Ended) {
      ended = false;
      undo(part);
    }
    if (part.host_use != 0) end_host_uses(part);
    for_uses(part, [&](Use& use) {
      if (use.pinned) coherence.memories[use.memory].residency.unpin(use.array->number);
      use.holders.visit([&](MemoryId m) { coherence.memories[m].residency.unpin(use.array->number); });
      use.array->settle_some(coherence.tracker);
    });
  }
  if (ended) keep();
  if (std::erase_if(coherence.pinning_calls, [&](const auto& pinning) { return pinning.call == this; }) > 0)
    coherence.wake_waiting();
}

}  // namespace strata::inline STRATA_ABI::detail
