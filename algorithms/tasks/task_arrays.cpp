// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include <strata/algorithms/tasks/task_arrays.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

ArrayHold hold_of(const TaskUse& use) { return {use.array, writes(use.mode)}; }

namespace {

void sort_by_address(std::vector<ArrayHold>& arrays) {
  std::sort(arrays.begin(), arrays.end(), [](const ArrayHold& a, const ArrayHold& b) {
    return std::less<>()(a.array.get(), b.array.get());
  });
}

}  // namespace

TaskArrays::~TaskArrays() { release_all(); }

void TaskArrays::set_owner() {
  owner_ = acting_thread();
  owner_number_ = acting_thread_number();
}

void TaskArrays::hold(std::vector<ArrayHold> arrays) {
  wait_for_turn(arrays, what_.c_str());
  hold_at_once(std::move(arrays));
}

void TaskArrays::hold_at_once(std::vector<ArrayHold> arrays) {
  if (add_all_reserved(arrays)) return;
  sort_by_address(arrays);
  while (true) {
    const std::size_t taken = add_while_free(arrays);
    if (taken == arrays.size()) return;
    wait_for(arrays[taken]);
  }
}

// Where all are there, one more hold of each.
bool TaskArrays::add_all_reserved(const std::vector<ArrayHold>& arrays) {
  const std::lock_guard lock(mutex_);
  for (const ArrayHold& hold : arrays) {
    const auto known = kept_.find(hold.array.get());
    if (known == kept_.end() || !known->second.suffices(hold.is_to_write)) return false;
  }
  for (const ArrayHold& hold : arrays) ++kept_[hold.array.get()].holds;
  return true;
}

bool TaskArrays::add_if_reserved(const ArrayHold& hold) {
  const std::lock_guard lock(mutex_);
  const auto known = kept_.find(hold.array.get());
  if (known == kept_.end() || !known->second.suffices(hold.is_to_write)) return false;
  ++known->second.holds;
  return true;
}

// The first array that others use, and then nothing is held; or the number of all.
std::size_t TaskArrays::add_while_free(const std::vector<ArrayHold>& arrays) {
  std::size_t taken = 0;
  const auto give_back = [&] {
    release({arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(taken)});
  };
  try {
    while (taken < arrays.size() && (add_if_reserved(arrays[taken]) || reserve(arrays[taken], false, true)))
      ++taken;
  } catch (...) {
    give_back();
    throw;
  }
  if (taken < arrays.size()) give_back();
  return taken;
}

// Until others do not use it any more, or not yet.
void TaskArrays::wait_for(const ArrayHold& hold) {
  const ActingFor acting(owner_, owner_number_);
  const ArrayReservation free(hold.array, ArrayPart{hold.array->shape.domain, {}}, hold.is_to_write,
                              what_.c_str());
}

void TaskArrays::hold_later(const std::vector<ArrayHold>& arrays) {
  for (const ArrayHold& hold : arrays) check_file_use(*hold.array, hold.is_to_write);
  const std::lock_guard lock(mutex_);
  for (const ArrayHold& hold : arrays) {
    Kept& kept = kept_[hold.array.get()];
    if (kept.holds++ == 0) kept.array = hold.array;
    if (!kept.suffices(hold.is_to_write)) wanted_.push_back(hold);
  }
}

std::vector<TaskArrays::Denied> TaskArrays::reserve_wanted() {
  std::vector<ArrayHold> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted.swap(wanted_);
  }
  sort_by_address(wanted);
  std::vector<Denied> denied;
  for (const ArrayHold& hold : wanted) {
    // Several tasks may have wanted it. Another wait would be in a ring again, and fail the other run, too.
    if (!denied.empty() && denied.back().array == hold.array) continue;
    // What is not held any more was wanted by a task that was refused in the end.
    if (is_held(*hold.array) && !has(*hold.array, hold.is_to_write)) try {
        reserve(hold, true, false);
      } catch (...) {
        denied.push_back({hold.array, std::current_exception()});
      }
  }
  return denied;
}

bool TaskArrays::is_held(const CoherentState& array) {
  const std::lock_guard lock(mutex_);
  return kept_.count(&array) > 0;
}

bool TaskArrays::has(const CoherentState& array, bool to_write) {
  const std::lock_guard lock(mutex_);
  const auto known = kept_.find(&array);
  return known != kept_.end() && known->second.suffices(to_write);
}

// Reserves an array; with a new hold, or one of those that there are. False: others use it.
bool TaskArrays::reserve(const ArrayHold& hold, bool waits, bool adds) {
  const ActingFor acting(owner_, owner_number_);  // what the owner has reserved is no other use
  CoherentState& array = *hold.array;
  const ArrayPart part{array.shape.domain, {}};
  ArrayReservation reservation =
      waits ? ArrayReservation(hold.array, part, hold.is_to_write, what_.c_str())
            : ArrayReservation::attempt(hold.array, part, hold.is_to_write, what_.c_str());
  if (!reservation) return false;
  check_file_use(array, hold.is_to_write);
  if (hold.is_to_write) mark_file_incomplete(array);
  const TransferCounters before = counters_of(array);
  const std::uint64_t losses = WholeCopies::losses(array);
  const std::lock_guard lock(mutex_);
  if (!adds && kept_.count(&array) == 0) return true;  // released meanwhile
  Kept& kept = kept_[&array];
  if (adds && kept.holds++ == 0) kept.array = hold.array;
  if (!kept.is_reserved) {
    kept.before = before;
    kept.losses = losses;
  }
  kept.is_reserved = true;
  kept.is_to_write = kept.is_to_write || hold.is_to_write;
  kept.reservations.push_back(std::move(reservation));
  return true;
}

void TaskArrays::release(const std::vector<ArrayHold>& arrays) {
  std::vector<Kept> ended;
  {
    const std::lock_guard lock(mutex_);
    for (const ArrayHold& hold : arrays) {
      const auto known = kept_.find(hold.array.get());
      if (known == kept_.end() || --known->second.holds > 0) continue;  // none: release_all() came first
      ended.push_back(std::move(known->second));
      kept_.erase(known);
    }
  }
  for (const Kept& kept : ended) add_bytes(kept);
}

void TaskArrays::release_all() {
  std::unordered_map<const CoherentState*, Kept> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(kept_);
    wanted_.clear();
  }
  for (const auto& [state, kept] : ended) add_bytes(kept);
}

void TaskArrays::add_bytes(const Kept& kept) {
  if (!kept.is_reserved) return;
  const TransferCounters now = counters_of(*kept.array);
  const std::lock_guard lock(mutex_);
  bytes_.to_devices += now.host_to_device.bytes - kept.before.host_to_device.bytes;
  bytes_.from_devices += now.device_to_host.bytes - kept.before.device_to_host.bytes;
  bytes_.between_devices += now.peer.bytes - kept.before.peer.bytes;
}

TaskArrays::Bytes TaskArrays::bytes() {
  std::vector<std::pair<Ref<CoherentState>, TransferCounters>> held;
  Bytes sum;
  {
    const std::lock_guard lock(mutex_);
    sum = bytes_;
    for (const auto& [state, kept] : kept_)
      if (kept.is_reserved) held.emplace_back(kept.array, kept.before);
  }
  for (const auto& [array, before] : held) {
    const TransferCounters now = counters_of(*array);
    sum.to_devices += now.host_to_device.bytes - before.host_to_device.bytes;
    sum.from_devices += now.device_to_host.bytes - before.device_to_host.bytes;
    sum.between_devices += now.peer.bytes - before.peer.bytes;
  }
  return sum;
}

std::vector<Ref<CoherentState>> TaskArrays::lost() {
  std::vector<std::pair<Ref<CoherentState>, std::uint64_t>> held;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [state, kept] : kept_)
      if (kept.is_reserved) held.emplace_back(kept.array, kept.losses);
  }
  std::vector<Ref<CoherentState>> lost;
  for (const auto& [array, known] : held) {
    const std::uint64_t losses = WholeCopies::losses(*array);
    if (losses == known) continue;
    lost.push_back(array);
    const std::lock_guard lock(mutex_);
    if (const auto kept = kept_.find(array.get()); kept != kept_.end()) kept->second.losses = losses;
  }
  return lost;
}

std::vector<Ref<CoherentState>> TaskArrays::all() {
  std::vector<Ref<CoherentState>> arrays;
  const std::lock_guard lock(mutex_);
  for (const auto& [state, kept] : kept_) arrays.push_back(kept.array);
  return arrays;
}

}  // namespace strata::inline STRATA_ABI::detail
