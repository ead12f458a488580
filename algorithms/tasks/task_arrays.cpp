#include <algorithm>
#include <functional>

#include <strata/algorithms/tasks/task_arrays.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

ArrayHold hold_of(const TaskUse& use) { return {use.array, writes(use.mode)}; }

TaskArrays::~TaskArrays() { release_all(); }

void TaskArrays::set_owner() {
  owner_ = acting_thread();
  owner_number_ = acting_thread_number();
}

// Counts; returns what is still to be reserved.
std::vector<ArrayHold> TaskArrays::add(const std::vector<ArrayHold>& arrays) {
  std::vector<ArrayHold> lacking;
  const std::lock_guard lock(mutex_);
  for (const ArrayHold& hold : arrays) {
    Kept& kept = kept_[hold.array.get()];
    if (kept.holds++ == 0) kept.array = hold.array;
    if (!kept.suffices(hold.is_to_write)) lacking.push_back(hold);
  }
  return lacking;
}

void TaskArrays::hold(std::vector<ArrayHold> arrays) {
  std::vector<ArrayHold> lacking = add(arrays);
  if (lacking.empty()) return;
  std::sort(lacking.begin(), lacking.end(), [](const ArrayHold& a, const ArrayHold& b) {
    return std::less<>()(a.array.get(), b.array.get());
  });
  try {
    for (const ArrayHold& array : lacking) reserve(array);
  } catch (...) {
    release(arrays);
    throw;
  }
}

void TaskArrays::hold_later(const std::vector<ArrayHold>& arrays) {
  std::vector<ArrayHold> lacking = add(arrays);
  const std::lock_guard lock(mutex_);
  wanted_.insert(wanted_.end(), lacking.begin(), lacking.end());
}

void TaskArrays::reserve_wanted() {
  std::vector<ArrayHold> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted.swap(wanted_);
  }
  std::sort(wanted.begin(), wanted.end(), [](const ArrayHold& a, const ArrayHold& b) {
    return std::less<>()(a.array.get(), b.array.get());
  });
  for (const ArrayHold& array : wanted) reserve(array);
}

// Of an array that is held.
void TaskArrays::reserve(const ArrayHold& hold) {
  const ActingFor acting(owner_, owner_number_);  // what the owner has reserved is no other use
  {
    const std::lock_guard lock(mutex_);
    const auto known = kept_.find(hold.array.get());
    if (known == kept_.end() || known->second.suffices(hold.is_to_write)) return;  // none: it was released
  }
  CoherentState& array = *hold.array;
  ArrayReservation reservation(hold.array, ArrayPart{array.shape.domain, {}}, hold.is_to_write, what_);
  check_file_use(array, hold.is_to_write);
  if (hold.is_to_write) mark_file_incomplete(array);
  const TransferCounters before = counters_of(array);
  const std::uint64_t losses = WholeCopies::losses(array);
  const std::lock_guard lock(mutex_);
  const auto known = kept_.find(&array);
  if (known == kept_.end()) return;  // released meanwhile
  Kept& kept = known->second;
  if (!kept.is_reserved) {
    kept.before = before;
    kept.losses = losses;
  }
  kept.is_reserved = true;
  kept.is_to_write = kept.is_to_write || hold.is_to_write;
  kept.reservations.push_back(std::move(reservation));
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
