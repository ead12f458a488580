// TaskDriver: room in memories, copies between them, and what follows from the end of a command.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/plan/task_driver.hpp>

namespace strata::inline STRATA_ABI::tasks {

using Kind = TaskCommand::Kind;

namespace {
// Of an array by a device: where it leaves before it is sent on, the host has it.
constexpr int most_relays = 8;
}  // namespace

// Victims for what `bytes` need beyond what is free or will be.
bool TaskDriver::make_room(DeviceId device, index_t bytes, bool is_prefetch) {
  const index_t missing = bytes - memory_.free(device) - memory_.memory(device).storing;
  if (missing <= 0) return false;
  chosen_.clear();
  scheduler_.victims({device, missing, is_prefetch}, chosen_);
  for (const ArrayId array : chosen_) {
    if (array < 0 || array >= graph_.num_arrays() || !memory_.is_evictable(array, device))
      fail("the scheduler names as a victim on the device \"" + machine_.device(device).name + "\" " +
           name_of(array) +
           ", which is not there or in use: victims are what Residency::is_evictable says, each once");
    evict(array, device);
  }
  return !chosen_.empty();
}

void TaskDriver::evict(ArrayId array, DeviceId device) {
  bool is_elsewhere = !memory_.is_dirty(array) && !graph_.array(array).by_parts;
  for (DeviceId other = 0; other < machine_.num_devices(); ++other)
    is_elsewhere = is_elsewhere ||
                   (other != device && memory_.is_present(array, other) && !graph_.array(array).by_parts);
  if (is_elsewhere) {
    drop(array, device);
    return;
  }
  memory_.copy(array, device).state = State::Storing;
  memory_.memory(device).storing += bytes_of(array);
  store(array, device);
  scheduler_.evicted(array, device);
}

void TaskDriver::drop(ArrayId array, DeviceId device) {
  free(array, device);
  scheduler_.evicted(array, device);
}

void TaskDriver::free(ArrayId array, DeviceId device) {
  memory_.copy(array, device).state = State::Absent;
  memory_.memory(device).used -= bytes_of(array);
  commands_.push_back({Kind::Drop, device, none, array, host, false});
}

void TaskDriver::load(ArrayId array, DeviceId device, DeviceId source, bool is_prefetch) {
  memory_.copy(array, device).state = State::Loading;
  memory_.memory(device).used += bytes_of(array);
  if (source != host) ++memory_.copy(array, source).lends;
  (source == host ? traffic_.to_devices : traffic_.between_devices) += bytes_of(array);
  const std::size_t holder =
      static_cast<std::size_t>(array) * devices_.size() + static_cast<std::size_t>(device);
  if (was_held_[holder]) traffic_.reloads += bytes_of(array);
  was_held_[holder] = true;
  command({Kind::Load, device, none, array, source, is_prefetch});
  scheduler_.loading(array, device);
}

void TaskDriver::store(ArrayId array, DeviceId device) {
  is_storing_[static_cast<std::size_t>(array)] = true;
  ++memory_.copy(array, device).lends;
  ++state(device).stores;
  traffic_.from_devices += bytes_of(array);
  command({Kind::Store, device, none, array, host, false});
}

// From where an array comes soonest. False: from nowhere now, or sooner from a device to which it is on its
// way; a device that has the only values, and no link to this one, stores them.
bool TaskDriver::find_source(ArrayId array, DeviceId device, DeviceId& source) {
  if (is_written_[static_cast<std::size_t>(array)]) return false;
  double best = -1;
  DeviceId holder = none;
  bool is_on_its_way = false;
  const bool awaits = scheduler_.awaits_copies();
  for (DeviceId from = host; from < machine_.num_devices(); ++from) {
    if (from == host ? memory_.is_dirty(array) : from == device || !memory_.holds(array, from)) continue;
    const bool is_there = from == host || memory_.is_present(array, from);
    if (from != host && is_there) holder = from;
    const int link = machine_.link_between(from, device);
    if (link == none) continue;
    if (!is_there && !awaits) continue;
    const index_t before = awaits ? on_link_[static_cast<std::size_t>(link)] : 0;
    const double seconds = machine_.copy_seconds(from, device, bytes_of(array) + before);
    if (best >= 0 && seconds >= best) continue;
    best = seconds;
    source = from;
    is_on_its_way = !is_there;
  }
  if (best < 0 && holder != none && !is_storing_[static_cast<std::size_t>(array)]) store(array, holder);
  if (best < 0 || is_on_its_way) return false;
  const bool is_near = machine_.link_between(source, device) != machine_.link_between(host, device);
  return is_near || !scheduler_.sends_on() || !relay(array, device);
}

// Where no near device has an array, one that is near to both gets it first, so that the link that all share
// is left to others. True: it is on its way there.
bool TaskDriver::relay(ArrayId array, DeviceId device) {
  const auto is_near = [&](DeviceId from, DeviceId to) {
    const int link = machine_.link_between(from, to);
    return from != to && link != none && link != machine_.link_between(host, to);
  };
  for (DeviceId holder = 0; holder < machine_.num_devices(); ++holder) {
    if (!memory_.is_present(array, holder)) continue;
    for (DeviceId between = 0; between < machine_.num_devices(); ++between) {
      const std::size_t k =
          static_cast<std::size_t>(array) * devices_.size() + static_cast<std::size_t>(between);
      if (relays_[k] == most_relays || !is_near(holder, between) || !is_near(between, device) ||
          memory_.copy(array, between).state != State::Absent || memory_.is_pinned(array, between))
        continue;
      make_room(between, bytes_of(array), true);
      if (memory_.free(between) < bytes_of(array)) continue;
      ++relays_[k];
      ++state(between).prefetches;
      load(array, between, holder, true);
      return true;
    }
  }
  return false;
}

bool TaskDriver::is_lent(ArrayId array) const {
  for (DeviceId device = 0; device < machine_.num_devices(); ++device)
    if (memory_.copy(array, device).lends > 0) return true;
  return false;
}

void TaskDriver::command(const TaskCommand& command) {
  if (command.kind != Kind::Run) link_bytes(command) += bytes_of(command.array);
  ++num_pending_;
  commands_.push_back(command);
}

index_t& TaskDriver::link_bytes(const TaskCommand& command) {
  const int link = command.kind == Kind::Load ? machine_.link_between(command.source, command.device)
                                              : machine_.link_between(command.device, host);
  return on_link_[static_cast<std::size_t>(link)];
}

// Ends of commands

void TaskDriver::load_done(const TaskCommand& command) {
  const ArrayId array = command.array;
  const DeviceId device = command.device;
  link_bytes(command) -= bytes_of(array);
  if (command.is_prefetch) --state(device).prefetches;
  if (command.source != host) --memory_.copy(array, command.source).lends;
  Residency::Copy& copy = memory_.copy(array, device);
  if (!copy.is_stale) {
    copy.state = State::Present;
    scheduler_.loaded(array, device);
    return;
  }
  copy.is_stale = false;
  free(array, device);
  if (copy.pins > 0) want(array, device);
}

void TaskDriver::store_done(const TaskCommand& command) {
  const ArrayId array = command.array;
  link_bytes(command) -= bytes_of(array);
  is_storing_[static_cast<std::size_t>(array)] = false;
  host_has(array);
  Residency::Copy& copy = memory_.copy(array, command.device);
  --copy.lends;
  --state(command.device).stores;
  if (copy.state != State::Storing) return;
  if (copy.pins > 0) {  // a task was admitted that uses it
    copy.state = State::Present;
    scheduler_.loaded(array, command.device);
    return;
  }
  free(array, command.device);
  memory_.memory(command.device).storing -= bytes_of(array);
}

void TaskDriver::run_done(const TaskCommand& command) {
  const TaskId task = command.task;
  DeviceState& state = this->state(command.device);
  --state.running;
  state.admitted.erase(std::find(state.admitted.begin(), state.admitted.end(), task));
  phase(task) = Phase::Done;
  ++num_done_;
  order_.push_back(task);
  for (const TaskAccess& access : graph_.task(task).accesses) {
    Residency::Copy& copy = memory_.copy(access.array, command.device);
    if (--copy.pins == 0) memory_.memory(command.device).pinned -= bytes_of(access.array);
    if (!access.commutes) continue;
    Updates& updates = updates_[static_cast<std::size_t>(access.array)];
    updates.is_running = false;
    --updates.admitted;
  }
  scheduler_.done(task, command.device);
  for (const TaskAccess& access : graph_.task(task).accesses)
    if (access.writes() && !graph_.array(access.array).by_parts) written(access.array, command.device);
  for (const TaskAccess& access : graph_.task(task).accesses)
    release_after(access.array, ++uses_done_[static_cast<std::size_t>(access.array)]);
  for (const TaskId next : graph_.successors(task))
    if (--waits_[static_cast<std::size_t>(next)] == 0) make_ready(next, command.device);

  if (num_done_ < graph_.num_tasks() || end_ == TaskEnd::InPlace) return;
  for (ArrayId array = 0; array < graph_.num_arrays(); ++array)
    for (DeviceId device = 0; device < machine_.num_devices(); ++device)
      if (memory_.is_dirty(array) && memory_.is_present(array, device) &&
          !is_storing_[static_cast<std::size_t>(array)])
        store(array, device);
}

// The device has the only valid copy.
void TaskDriver::written(ArrayId array, DeviceId device) {
  is_written_[static_cast<std::size_t>(array)] = false;
  if (!memory_.is_dirty(array)) ++num_dirty_;
  memory_.host_is_valid_[static_cast<std::size_t>(array)] = false;
  for (DeviceId other = 0; other < machine_.num_devices(); ++other) {
    if (other == device) continue;
    Residency::Copy& copy = memory_.copy(array, other);
    if (copy.state == State::Present) drop(array, other);
    if (copy.state == State::Loading && !copy.is_stale) {
      copy.is_stale = true;
      scheduler_.evicted(array, other);
    }
  }
}

// Its values, or nobody needs them.
void TaskDriver::host_has(ArrayId array) {
  if (!memory_.is_dirty(array)) return;
  --num_dirty_;
  memory_.host_is_valid_[static_cast<std::size_t>(array)] = true;
  scheduler_.stored(array);
}

void TaskDriver::release_after(ArrayId array, int uses) {
  for (const TaskDag::Release& release : graph_.releases(array))
    if (release.uses == uses) this->release(array, release.discards);
}

void TaskDriver::release(ArrayId array, bool discards) {
  if (discards) host_has(array);
  for (DeviceId device = 0; device < machine_.num_devices(); ++device) {
    if (!memory_.is_evictable(array, device)) continue;
    if (discards) drop(array, device);
    else evict(array, device);
  }
}

void TaskDriver::make_ready(TaskId task, DeviceId released_by) {
  phase(task) = Phase::Ready;
  scheduler_.ready(task, released_by);
}

}  // namespace strata::inline STRATA_ABI::tasks
