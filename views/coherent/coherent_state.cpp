// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/core/error_text.hpp>
#include <strata/views/coherent/coherence.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/debugger.hpp>
#include <strata/views/coherent/last_use.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

// Programs with coherent arrays have the function that describes them in gdb.
[[gnu::used]] const auto for_gdb = &strata_describe_coherent_array;

std::uint64_t next_identity() {
  static std::uint64_t last = 0;
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

}  // namespace

template <>
void Ref<CoherentState>::acquire() {
  RefCounted* const base = object_;
  if (base != nullptr) __atomic_fetch_add(&base->references_, 1, __ATOMIC_RELAXED);
}
template <>
Ref<CoherentState>::~Ref() {
  RefCounted* const base = object_;
  if (base != nullptr && __atomic_sub_fetch(&base->references_, 1, __ATOMIC_ACQ_REL) == 0) destroy(base);
}

CoherentState::CoherentState(const char* its_label, const ArrayShape& its_shape, const Main& its_main,
                             MemorySet current, MemoryMode its_mode)
    : label(its_label),
      shape(its_shape),
      main(its_main),
      mode(its_mode),
      identity(next_identity()),
      directory(its_shape.domain, current),
      pages(its_shape.domain, {}),
      homes(its_shape.domain, {}),
      settled_(its_shape.domain, current) {
  Coherence::get().add(*this);
}

CoherentState::~CoherentState() {
  if (is_adopted && std::uncaught_exceptions() == 0) bring_home(*this);
  Coherence::get().remove(*this);
}

WorkOrder& CoherentState::new_order(std::size_t memory) {
  if (memory >= orders_.size())
    orders_.resize(std::max<std::size_t>(memory + 1, 2));  // the host's, and a device's
  orders_[memory] = std::make_unique<WorkOrder>(shape.domain);
  return *orders_[memory];
}

void CoherentState::log(Change::Kind kind, MemoryId memory, const Box& box, Work work) {
  // It is done, and so is all before.
  if (work.number == 0 && log_.empty()) return apply({kind, memory, box, work}, settled_);
  Change& change = log_.add();
  change.kind = kind;
  change.memory = memory;
  change.box = box;
  change.work = work;
}
void CoherentState::log_copy(MemoryId memory, const Box& box, Work work) {
  log(Change::Kind::Copied, memory, box, work);
}
void CoherentState::log_kernel(MemoryId memory, const Box& box, Work work) {
  log(Change::Kind::Written, memory, box, work);
}
void CoherentState::log_move(MemoryId memory, const Box& box, Work work) {
  log(Change::Kind::Moved, memory, box, work);
}
void CoherentState::log_drop(MemoryId memory, const Box& box) { log(Change::Kind::Dropped, memory, box, {}); }
void CoherentState::log_discard(MemoryId memory, const Box& box) {
  log(Change::Kind::Discarded, memory, box, {});
}

void CoherentState::give_up(MemoryId memory, const Box& box) {
  const auto writes = [](const HostUse& use) { return use.is_kernel && use.writes; };
  if (std::any_of(host_uses.begin(), host_uses.end(), writes)) {
    const Directory before = unclaimed();
    for (HostUse& use : host_uses)
      if (writes(use))
        use.part.visit([&](const Box& written) {
          for (const Box& last : before.only_in(memory, intersect(written, box))) use.note_lost(last);
        });
  }
  directory.dropped(memory, box);
  log_drop(memory, box);
}

std::vector<Box> CoherentState::without_kernels(MemoryId memory, std::vector<Box> boxes, bool begun) const {
  for (const HostUse& use : host_uses)
    if (use.is_kernel && use.writes && use.memory == memory && (use.has_begun || !begun))
      use.part.visit([&](const Box& written) { boxes = remainder(boxes, written); });
  return boxes;
}

void CoherentState::apply(const Change& change, Directory& directory) {
  switch (change.kind) {
    case Change::Kind::Copied:
      directory.copied(change.memory, change.box);
      break;
    case Change::Kind::Written:
      directory.written(change.memory, change.box);
      break;
    case Change::Kind::Moved:
      break;
    case Change::Kind::Dropped:
    case Change::Kind::Discarded:
      directory.dropped(change.memory, change.box);
      break;
  }
}

void CoherentState::settle(WorkTracker& tracker) {
  std::size_t settled = 0;
  for (; settled < log_.size() && tracker.ended(log_[settled].work); ++settled)
    apply(log_[settled], settled_);
  log_.drop_front(settled);
}

Directory CoherentState::unclaimed() const {
  Directory noted = settled_;
  for (const Change& change : log_) apply(change, noted);
  return noted;
}

namespace {

bool is_loss(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const DataLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void CoherentState::add_failure(const std::exception_ptr& error) {
  std::exception_ptr all = error;
  if (failure.error && failure.error != error && is_loss(failure.error))
    all = std::make_exception_ptr(DataLost(text_of(failure.error) + "\n" + text_of(error)));
  failure = {all, {}};
}

void CoherentState::lose(const Change& change, std::vector<Box>& lost) {
  for (const Box& box : settled_.only_in(change.memory, change.box)) lost.push_back(box);
  settled_.dropped(change.memory, change.box);
}

std::vector<Box> CoherentState::rebuild(const WorkTracker::Recovery& recovery, bool& undone) {
  using Outcome = WorkTracker::Outcome;
  std::vector<Box> lost;
  undone = false;
  for (const Change& change : log_) {
    const Outcome outcome = change.work.number == 0 ? Outcome::Done : recovery.of(change.work);
    const bool is_written = change.kind == Change::Kind::Written,
               is_moved = change.kind == Change::Kind::Moved;
    undone = undone || (outcome != Outcome::Done && is_written);
    switch (outcome) {
      case Outcome::Done:
        // What was given up was out of date by work that may have failed since: then it was needed.
        if (change.kind == Change::Kind::Dropped) lose(change, lost);
        else apply(change, settled_);
        break;
      case Outcome::Failed:  // it may have written in part, a copy over what is good if other work failed,
                             // too
        lose(change, lost);
        break;
      case Outcome::Dropped:  // it did not begin
        if (is_moved) lose(change, lost);
        break;
      case Outcome::Spoiled:  // it wrote wrong values
        lose(change, lost);
        break;
    }
  }
  log_.clear();
  // Whatever the numbers of both, this state has a new one.
  const std::uint64_t next_state = state_number() + 1;
  directory = settled_;
  other_changes_ = next_state - directory.changes();
  orders_.clear();
  // What was written anew since is not lost.
  std::vector<Box> still_lost;
  for (const Box& box : lost)
    for (const Box& part : settled_.never_written(box)) still_lost.push_back(part);
  for (HostUse& use : host_uses) {
    // That of the call that has met the failure is not going to be done.
    if (!use.is_kernel || !use.writes || use.thread == std::this_thread::get_id()) continue;
    use.part.visit([&](const Box& box) {
      for (const Box& written : intersect(still_lost, box)) use.note_lost(written);
      still_lost = remainder(still_lost, box);
    });
  }
  merge(still_lost);
  return still_lost;
}

}  // namespace strata::inline STRATA_ABI::detail
