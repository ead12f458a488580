// TaskDriver: what is ready, admitted and run, and what is loaded and stored when; and errors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/plan/task_driver.hpp>
#include <strata/core/bytes.hpp>

namespace strata::inline STRATA_ABI::tasks {

using Kind = TaskCommand::Kind;

namespace {
constexpr int most_prefetches = 2;  // under way to a device: what is needed at once does not wait long

// How a task uses an array; nullptr: not at all.
const TaskAccess* access_of(const TaskDag& graph, TaskId task, ArrayId array) {
  const std::vector<TaskAccess>& accesses = graph.task(task).accesses;
  const auto found = std::find_if(accesses.begin(), accesses.end(),
                                  [&](const TaskAccess& access) { return access.array == array; });
  return found == accesses.end() ? nullptr : &*found;
}

}  // namespace

TaskDriver::TaskDriver(const TaskDag& graph, const Machine& machine, TaskScheduler& scheduler, TaskEnd end)
    : graph_(graph),
      machine_(machine),
      scheduler_(scheduler),
      end_(end),
      memory_(graph, machine),
      devices_(static_cast<std::size_t>(machine.num_devices())),
      phases_(static_cast<std::size_t>(graph.num_tasks()), Phase::Waiting),
      is_storing_(static_cast<std::size_t>(graph.num_arrays())),
      is_written_(static_cast<std::size_t>(graph.num_arrays())),
      relays_(static_cast<std::size_t>(graph.num_arrays()) * devices_.size()),
      was_held_(static_cast<std::size_t>(graph.num_arrays()) * devices_.size()),
      updates_(static_cast<std::size_t>(graph.num_arrays())),
      uses_done_(static_cast<std::size_t>(graph.num_arrays())),
      on_link_(machine.links().size()) {
  graph.require_acyclic();
  machine.require_fit(graph);
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    waits_.push_back(static_cast<int>(graph.predecessors(task).size()));
    most_useless_ += static_cast<long>(graph.task(task).accesses.size());
  }
}

void TaskDriver::place(ArrayId array, DeviceId device, bool is_dirty) {
  Residency::Memory& memory = memory_.memory(device);
  if (bytes_of(array) > memory_.free(device))
    fail("the array " + graph_.array(array).label + " cannot begin on the device \"" +
         machine_.device(device).name + "\": it has " + string_from_bytes(bytes_of(array)) + ", and " +
         string_from_bytes(memory_.free(device)) + " are free there");
  memory.used += bytes_of(array);
  memory_.copy(array, device).state = State::Present;
  was_held_[static_cast<std::size_t>(array) * devices_.size() + static_cast<std::size_t>(device)] = true;
  if (!is_dirty || memory_.is_dirty(array)) return;
  memory_.host_is_valid_[static_cast<std::size_t>(array)] = false;
  ++num_dirty_;
}

void TaskDriver::start() {
  scheduler_.start({graph_, machine_, memory_, now_, end_});
  for (ArrayId array = 0; array < graph_.num_arrays(); ++array)
    for (DeviceId device = 0; device < machine_.num_devices(); ++device)
      if (memory_.is_present(array, device)) scheduler_.loaded(array, device);
  for (ArrayId array = 0; array < graph_.num_arrays(); ++array) release_after(array, 0);
  for (TaskId task = 0; task < graph_.num_tasks(); ++task) scheduler_.submitted(task);
  for (TaskId task = 0; task < graph_.num_tasks(); ++task)
    if (graph_.predecessors(task).empty()) make_ready(task, host);
  pump();
}

bool TaskDriver::next(TaskCommand& command) {
  if (commands_.empty()) return false;
  command = commands_.front();
  commands_.pop_front();
  return true;
}

void TaskDriver::done(const TaskCommand& command, double now) {
  now_ = now;
  --num_pending_;
  switch (command.kind) {
    case Kind::Load:
      load_done(command);
      break;
    case Kind::Store:
      store_done(command);
      break;
    case Kind::Run:
      run_done(command);
      break;
    case Kind::Drop:
      fail("done() is not called for a Drop: it has no end");
  }
  pump();
}

// Decisions

void TaskDriver::pump() {
  bool is_changed = true;
  while (is_changed) {
    is_changed = false;
    for (DeviceId device = 0; device < machine_.num_devices(); ++device) is_changed |= pump(device);
  }
}

bool TaskDriver::pump(DeviceId device) {
  DeviceState& state = this->state(device);
  bool is_changed = false;
  const int assigned_before = num_assigned_;  // others may have been handed a task
  while (num_assigned_ < graph_.num_tasks() || state.assigned != none || !state.handed.empty()) {
    if (state.assigned == none) {
      if (static_cast<int>(state.admitted.size()) >= scheduler_.tasks_ahead(device)) break;
      state.assigned = next_assigned(device);
      if (state.assigned == none) break;
      is_changed = true;
    }
    if (!admit(device)) break;
    is_changed = true;
  }
  is_changed |= num_assigned_ != assigned_before;
  is_changed |= start_loads(device);
  is_changed |= start_run(device);
  is_changed |= start_prefetches(device);
  is_changed |= start_stores(device);
  return is_changed;
}

// What the device is to run next. A task that it cannot run is handed to one that can, and the scheduler
// asked again.
TaskId TaskDriver::next_assigned(DeviceId device) {
  DeviceState& state = this->state(device);
  if (!state.handed.empty()) {
    const TaskId task = state.handed.front();
    state.handed.pop_front();
    return task;
  }
  while (true) {
    const TaskId task = scheduler_.assign(device);
    if (task == none) return none;
    require_ready(task);
    phase(task) = Phase::Assigned;
    ++num_assigned_;
    num_idle_prefetches_ = 0;
    if (machine_.can_run(graph_, task, device)) return task;
    this->state(device_for(task)).handed.push_back(task);
  }
}

// Of those that can run it, the one with the fewest tasks.
DeviceId TaskDriver::device_for(TaskId task) const {
  DeviceId best = none;
  std::size_t fewest = 0;
  for (DeviceId device = 0; device < machine_.num_devices(); ++device) {
    if (!machine_.can_run(graph_, task, device)) continue;
    const DeviceState& state = devices_[static_cast<std::size_t>(device)];
    const std::size_t tasks = state.admitted.size() + state.handed.size();
    if (best != none && tasks >= fewest) continue;
    best = device;
    fewest = tasks;
  }
  return best;
}

void TaskDriver::require_ready(TaskId task) {
  if (task < 0 || task >= graph_.num_tasks())
    fail("the scheduler assigns the task number " + std::to_string(task) + " of a graph that has " +
         std::to_string(graph_.num_tasks()));
  if (phase(task) == Phase::Waiting) {
    const std::vector<TaskId>& before = graph_.predecessors(task);
    const TaskId other = *std::find_if(before.begin(), before.end(),
                                       [&](TaskId candidate) { return phase(candidate) != Phase::Done; });
    fail("the scheduler assigns " + graph_.describe(task) + " before " + graph_.describe(other) +
         " is done, for which it waits: assign() returns tasks that ready() named");
  }
  if (phase(task) != Phase::Ready)
    fail("the scheduler assigns " + graph_.describe(task) +
         " a second time: assign() returns each task that ready() named once");
}

// Whether no other device has the arrays for updates that commute with the task's.
bool TaskDriver::may_update(TaskId task, DeviceId device) const {
  const std::vector<TaskAccess>& accesses = graph_.task(task).accesses;
  return std::all_of(accesses.begin(), accesses.end(), [&](const TaskAccess& access) {
    const Updates& updates = updates_[static_cast<std::size_t>(access.array)];
    return !access.commutes || updates.admitted == 0 || updates.device == device;
  });
}

// Pins all that the assigned task uses, if the rest of what is pinned leaves room for it.
bool TaskDriver::admit(DeviceId device) {
  DeviceState& state = this->state(device);
  const TaskId task = state.assigned;
  if (task == none || !may_update(task, device)) return false;
  Residency::Memory& memory = memory_.memory(device);
  index_t more = 0;
  for (const TaskAccess& access : graph_.task(task).accesses)
    if (!memory_.is_pinned(access.array, device)) more += bytes_of(access.array);
  if (memory.pinned + more > memory.capacity) return false;

  for (const TaskAccess& access : graph_.task(task).accesses) {
    if (access.commutes) {
      Updates& updates = updates_[static_cast<std::size_t>(access.array)];
      updates.device = device;
      ++updates.admitted;
    }
    Residency::Copy& copy = memory_.copy(access.array, device);
    if (copy.pins++ > 0) continue;
    memory.pinned += bytes_of(access.array);
    if (copy.state == State::Storing) memory.storing -= bytes_of(access.array);  // it stays
    if (copy.state == State::Absent) want(access.array, device);
  }
  state.assigned = none;
  state.admitted.push_back(task);
  phase(task) = Phase::Admitted;
  return true;
}

void TaskDriver::want(ArrayId array, DeviceId device) {
  state(device).wanted.push_back(array);
  state(device).wanted_bytes += bytes_of(array);
}

// What admitted tasks need, in their order. Room is asked for all of it at once, so that stores follow each
// other.
bool TaskDriver::start_loads(DeviceId device) {
  DeviceState& state = this->state(device);
  if (state.wanted.empty()) return false;
  bool is_changed = make_room(device, state.wanted_bytes, false);
  for (auto wanted = state.wanted.begin(); wanted != state.wanted.end();) {
    const ArrayId array = *wanted;
    if (memory_.free(device) < bytes_of(array)) break;
    const bool is_overwritten = std::any_of(state.admitted.begin(), state.admitted.end(), [&](TaskId task) {
      const TaskAccess* access = access_of(graph_, task, array);
      return access && !access->reads() && !graph_.array(array).by_parts;
    });
    DeviceId source = host;
    if (!is_overwritten && !find_source(array, device, source)) {
      ++wanted;  // its values are on their way to the host
      continue;
    }
    wanted = state.wanted.erase(wanted);
    state.wanted_bytes -= bytes_of(array);
    is_changed = true;
    if (is_overwritten) {
      memory_.memory(device).used += bytes_of(array);
      memory_.copy(array, device).state = State::Present;
      is_written_[static_cast<std::size_t>(array)] = true;  // there is nothing to copy from now on
      scheduler_.loaded(array, device);
    } else {
      load(array, device, source, false);
    }
  }
  return is_changed;
}

bool TaskDriver::start_prefetches(DeviceId device) {
  DeviceState& state = this->state(device);
  bool is_changed = false;
  long num_useless = 0;
  while (state.wanted.empty() && state.prefetches < most_prefetches && num_assigned_ < graph_.num_tasks()) {
    if (state.prefetch == none) state.prefetch = scheduler_.prefetch(device);
    const ArrayId array = state.prefetch;
    if (array == none) break;
    if (array < 0 || array >= graph_.num_arrays())
      fail("the scheduler prefetches the array number " + std::to_string(array) + " of a graph that has " +
           std::to_string(graph_.num_arrays()));
    if (bytes_of(array) > memory_.capacity(device))
      fail("the scheduler prefetches " + graph_.array(array).label + ", which has " +
           string_from_bytes(bytes_of(array)) + ", to the device \"" + machine_.device(device).name +
           "\", which has " + string_from_bytes(memory_.capacity(device)));
    DeviceId source = host;
    // What is there, or has no values to copy just now, is not looked for again: its task will want it.
    if (memory_.copy(array, device).state != State::Absent || !find_source(array, device, source)) {
      state.prefetch = none;
      if (++num_useless > most_useless_)
        fail("the scheduler prefetches " + graph_.array(array).label + " to the device \"" +
             machine_.device(device).name +
             "\" again and again, where it is already or cannot come from anywhere now: prefetch() returns "
             "what Residency::holds has not, each array once");
      continue;
    }
    is_changed |= make_room(device, bytes_of(array), true);
    if (memory_.free(device) < bytes_of(array)) break;
    state.prefetch = none;
    ++state.prefetches;
    is_changed = true;
    // With no task on any device, arrays that come and go change nothing.
    if (num_assigned_ == num_done_ && ++num_idle_prefetches_ > 2 * static_cast<long>(was_held_.size()))
      fail_stuck();
    load(array, device, source, true);
  }
  return is_changed;
}

bool TaskDriver::start_stores(DeviceId device) {
  DeviceState& state = this->state(device);
  if (state.stores > 0 || num_done_ == graph_.num_tasks()) return false;
  const ArrayId array = scheduler_.store(device);
  if (array == none) return false;
  if (array < 0 || array >= graph_.num_arrays() || !memory_.is_present(array, device) ||
      !memory_.is_dirty(array))
    fail("the scheduler stores from the device \"" + machine_.device(device).name + "\" " + name_of(array) +
         ", of which it does not have the only values");
  // What a task is about to overwrite nobody needs.
  if (is_storing_[static_cast<std::size_t>(array)] || is_written_[static_cast<std::size_t>(array)])
    return false;
  store(array, device);
  return true;
}

// The first in the order of admission whose arrays are all there, and of whose results nobody takes a copy.
bool TaskDriver::start_run(DeviceId device) {
  DeviceState& state = this->state(device);
  if (state.running == machine_.device(device).queues) return false;
  for (const TaskId task : state.admitted) {
    if (phase(task) == Phase::Running) continue;
    const std::vector<TaskAccess>& accesses = graph_.task(task).accesses;
    const bool can_run = std::all_of(accesses.begin(), accesses.end(), [&](const TaskAccess& access) {
      return memory_.is_present(access.array, device) && (!access.writes() || !is_lent(access.array)) &&
             (!access.commutes || !updates_[static_cast<std::size_t>(access.array)].is_running);
    });
    if (!can_run) continue;
    for (const TaskAccess& access : accesses) {
      if (access.writes() && !graph_.array(access.array).by_parts)
        is_written_[static_cast<std::size_t>(access.array)] = true;
      if (access.commutes) updates_[static_cast<std::size_t>(access.array)].is_running = true;
    }
    phase(task) = Phase::Running;
    ++state.running;
    command({Kind::Run, device, task, none, host, false});
    return true;
  }
  return false;
}

// Errors

void TaskDriver::fail_stuck() const {
  std::string text;
  for (DeviceId device = 0; device < machine_.num_devices(); ++device) {
    const DeviceState& state = devices_[static_cast<std::size_t>(device)];
    if (state.wanted.empty()) continue;
    const ArrayId first = state.wanted.front();
    const TaskId waiting = *std::find_if(state.admitted.begin(), state.admitted.end(),
                                         [&](TaskId task) { return access_of(graph_, task, first); });
    std::string arrays;
    for (const ArrayId array : state.wanted)
      arrays += (arrays.empty() ? "" : ", ") + graph_.array(array).label;
    text += "; the device \"" + machine_.device(device).name + "\" has no room for " + arrays +
            ", which the task " + graph_.describe(waiting) + " needs: victims() has to name " +
            string_from_bytes(state.wanted_bytes - memory_.free(device)) +
            " of the arrays that are not in use";
  }
  if (text.empty()) text = "; " + idle_text();
  fail("the run stands still after " + std::to_string(num_done_) + " of " +
       std::to_string(graph_.num_tasks()) + " tasks" + text);
}

// Of what a scheduler names, which may be no array.
std::string TaskDriver::name_of(ArrayId array) const {
  return array < 0 || array >= graph_.num_arrays() ? "the array number " + std::to_string(array)
                                                   : graph_.array(array).label;
}

// Why no device has a task.
std::string TaskDriver::idle_text() const {
  int num_ready = 0;
  std::string names;
  for (TaskId task = 0; task < graph_.num_tasks(); ++task) {
    if (phases_[static_cast<std::size_t>(task)] != Phase::Ready) continue;
    if (++num_ready <= 3) names += (names.empty() ? "" : "; ") + graph_.describe(task);
  }
  std::string without_tasks;
  for (DeviceId device = 0; device < machine_.num_devices(); ++device)
    if (scheduler_.tasks_ahead(device) < 1)
      without_tasks += (without_tasks.empty() ? "" : ", ") + machine_.device(device).name;
  return "all devices are idle, and " + std::to_string(num_ready) +
         (num_ready == 1 ? " task is ready: " : " tasks are ready: ") + names +
         (num_ready > 3 ? "; ..." : "") +
         (without_tasks.empty()
              ? ". assign() has to return each task that ready() named"
              : ". tasks_ahead() has to be 1 at least, and is less for the devices " + without_tasks);
}

void TaskDriver::fail(const std::string& what) const { throw TaskError(what); }

}  // namespace strata::inline STRATA_ABI::tasks
