// Launches that come again (kept_launch.hpp): how they are known, what is left of prepare(), and what is
// kept.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>

#include <strata/views/coherent/call_state.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

bool same_region(const ArrayPart& a, const ArrayPart& b) { return a.first == b.first && a.more == b.more; }

bool has_rows(const Instance& instance, const ArrayShape& shape, const ArrayPart& region) {
  const ResidentRows rows = shape.rows_of(region);
  return rows.begin >= rows.end || (instance.rows().begin <= rows.begin && rows.end <= instance.rows().end);
}

}  // namespace

void CallState::hash(const void* pointer, index_t number) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  hash_ = (hash_ ^ reinterpret_cast<std::uintptr_t>(pointer) ^ static_cast<std::uint64_t>(number)) * factor;
  hash_ ^= hash_ >> 29;
}

bool CallState::is_same(const KeptLaunch& launch) const {
  if (launch.parts.size() != parts_.size() || launch.uses.size() != uses_.size()) return false;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Part& mine = parts_[p];
    const KeptLaunch::Part& other = launch.parts[p];
    if (mine.device != other.device || mine.unlocked != other.unlocked || mine.uses != other.uses)
      return false;
  }
  for (std::size_t k = 0; k < uses_.size(); ++k) {
    const Use& mine = uses_[k];
    const KeptLaunch::Use& other = launch.uses[k];
    if (mine.array != other.array || mine.array->identity != other.identity || mine.mode != other.mode ||
        !same_region(mine.region, other.region))
      return false;
  }
  return true;
}

// Whether the call is one that came before, finds its arrays as that left them, and has to wait for no
// thread: then it has all that prepare() is to bring about.
bool CallState::use_kept() {
  if (uses_.empty()) return false;
  KeptLaunch* const launch =
      uses_.front().array->kept.find(hash_, [&](const KeptLaunch& known) { return is_same(known); });
  if (launch == nullptr) return false;
  Coherence& coherence = Coherence::get();
  if (coherence.tracker.failed() || !coherence.room_waiters.empty()) return false;
  for (std::size_t k = 0; k < uses_.size(); ++k) {
    const CoherentState& array = *uses_[k].array;
    if (array.state_number() != launch->uses[k].state_number || array.failure.error ||
        array.has_uses_of_others())
      return false;
  }
  kept_ = launch;
  ++coherence.kept_launches;
  recoveries_ = coherence.recoveries;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    part.memory = launch->parts[p].memory;
    for_uses(part, [&](Use& use) {
      use.claimed = writes(use.mode);
      use.memory = use.array->is_shared() ? host_memory : part.memory;
      if (use.memory == host_memory || use.region.empty()) return;
      Residency& residency = coherence.memories[use.memory].residency;
      residency.used(use.array->number);
      if (!part.unlocked) return;  // nobody else has the lock until all is enqueued
      residency.pin(use.array->number);
      use.pinned = true;
    });
  }
  return true;
}

// Whether the part's kernel may be a part of the work that it was the last time: that is the last on its
// queue, and nothing has used the arrays since. Whatever has to come after one of the two has to come after
// both, and both come after the same.
bool CallState::can_join(int number) {
  if constexpr (checked_build) return false;  // what is written is marked between them
  if (kept_ == nullptr || keeps_pins()) return false;
  Part& part = parts_[static_cast<std::size_t>(number)];
  part.work = kept_->parts[static_cast<std::size_t>(number)].last;
  if (part.early || !Coherence::get().tracker.can_extend(*part.queue, part.work)) return false;
  for (int k = part.first_use; k < part.first_use + part.uses; ++k) {
    const auto place = static_cast<std::size_t>(k);
    const Use& use = uses_[place];
    // Others may have moved pages of managed memory, which is no change of where values are.
    if (use.array->is_shared()) return false;
    if (use.array->order(use.memory).changes() != kept_->uses[place].order_changes) return false;
  }
  return true;
}

// For can_join() of the next time.
void CallState::note_order(KeptLaunch& launch) {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    launch.parts[p].last = part.work;
    for (int k = part.first_use; k < part.first_use + part.uses; ++k) {
      const auto place = static_cast<std::size_t>(k);
      const Use& use = uses_[place];
      launch.uses[place].order_changes = use.array->order(use.memory).changes();
    }
  }
}

// The call is over: one like it, that finds the arrays in this state, has nothing to do before its kernels.
void CallState::keep() {
  if (uses_.empty() || Coherence::get().recoveries != recoveries_) return;
  if (kept_ != nullptr) {
    const bool all_join =
        std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.joins; });
    if (!all_join && !keeps_pins()) note_order(*kept_);
    return;
  }
  for (const Part& part : parts_) {
    bool is_ready = true;
    for_uses(part, [&](const Use& use) {
      CoherentState& array = *use.array;
      is_ready = is_ready && array.mode != MemoryMode::Implicit;
      use.region.visit([&](const Box& box) {
        is_ready = is_ready && (writes(use.mode) ? array.directory.holds_alone(use.memory, box)
                                                 : !array.directory.lacks(use.memory, box));
      });
      is_ready = is_ready &&
                 (use.memory == host_memory || has_rows(array.instance(use.memory), array.shape, use.region));
    });
    if (!is_ready) return;
  }
  KeptLaunches& kept = uses_.front().array->kept;
  KeptLaunch* launch = kept.find(hash_, [&](const KeptLaunch& known) { return is_same(known); });
  if (launch != nullptr) {
    for (std::size_t k = 0; k < uses_.size(); ++k)
      launch->uses[k].state_number = uses_[k].array->state_number();
    note_order(*launch);
    return;
  }
  try {
    launch = &kept.add(hash_);
    launch->parts.clear();
    launch->uses.clear();
    for (const Part& part : parts_)
      launch->parts.push_back({part.device, part.unlocked, part.memory, part.uses, {}});
    for (const Use& use : uses_)
      launch->uses.push_back(
          {use.array, use.array->identity, use.mode, use.region, use.array->state_number(), 0});
    note_order(*launch);
  } catch (const std::bad_alloc&) {  // then it is planned the next time, too
  }
}

}  // namespace strata::inline STRATA_ABI::detail
