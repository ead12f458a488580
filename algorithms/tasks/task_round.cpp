// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <limits>

#include <strata/algorithms/tasks/task_failures.hpp>
#include <strata/algorithms/tasks/task_round.hpp>
#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/file_storage.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

bool is_out_of_memory(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const OutOfMemory&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

TaskRound::TaskRound(const std::string& label, const TaskPlan& plan, std::vector<Runner>& runners,
                     TaskMailbox& mailbox, tasks::TaskScheduler& scheduler, const Options& options)
    : label_(label),
      plan_(plan),
      runners_(runners),
      mailbox_(mailbox),
      driver_(plan.tasks, *plan.machine, scheduler, options.end),
      tasks_done_(runners.size()),
      bytes_in_(runners.size()),
      bytes_out_(runners.size()),
      was_there_(plan.arrays.size() * runners.size()),
      options_(options) {
  for (const Runner& runner : runners) is_busy_.emplace_back(runner.queues.size());
}

double TaskRound::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

// The driver begins with what is on devices as a whole. What is there in part, or has no room in the plan,
// goes to the host; so do values that only a device outside of the place has.
void TaskRound::place_copies() {
  for (std::size_t k = 0; k < plan_.arrays.size(); ++k) {
    CoherentState& array = *plan_.arrays[k];
    const tasks::ArrayId id = static_cast<tasks::ArrayId>(k);
    const bool by_parts = plan_.tasks.array(id).by_parts;
    const bool is_dirty = !by_parts && WholeCopies::host_lacks(array);
    bool is_placed = false;
    for (std::size_t part = 0; part < runners_.size(); ++part) {
      DeviceInstance* const device = device_of(static_cast<tasks::DeviceId>(part));
      if (device == nullptr) continue;
      const WholeCopies::Presence presence = WholeCopies::presence(array, *device);
      if (presence == WholeCopies::Presence::None) continue;
      const tasks::DeviceId there = static_cast<tasks::DeviceId>(part);
      const bool has_room = plan_.tasks.array(id).bytes <= driver_.memory().free(there);
      if ((presence == WholeCopies::Presence::Whole || by_parts) && has_room) {
        copies_.reserve(plan_.arrays[k], *device);
        driver_.place(id, there, is_dirty);
        was_there_[k * runners_.size() + part] = true;
        is_placed = true;
      } else {
        WholeCopies::evict(array, *device);
      }
    }
    if (is_dirty && !is_placed) flush(plan_.arrays[k], array.shape.domain);
  }
}

void TaskRound::run() {
  try {
    place_copies();
  } catch (const Error& error) {  // a copy to the host
    is_stopping_ = true;
    cause_ = error.what();
    return;
  }
  if (options_.in_virtual_time) {
    virtual_start_ = runners_.front().queues.front()->record();
    held_clock_.emplace();
  }
  const double before = now();
  driver_.start();
  last_end_ = now();
  decision_seconds_ += last_end_ - before;
  while (true) {
    tasks::TaskCommand command;
    while (!is_stopping_ && driver_.next(command)) begin(command);
    if (is_stopping_ ? running_.empty() : driver_.is_finished()) return;
    if (running_.empty()) driver_.fail_stuck();
    if (virtual_start_) {
      end_next_in_virtual_time();
      continue;
    }
    if (!end_some()) {
      wait_for_end();
      continue;
    }
    idle_polls_ = 0;
  }
}

// Begins

void TaskRound::begin(const tasks::TaskCommand& command) {
  const WholeCopies::OtherWork other;
  const std::uint64_t begun = calls_begun();
  try {
    if (command.kind == Kind::Drop) drop(command);
    else if (command.kind == Kind::Run) begin_run(command);
    else begin_copy(command);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    // What met the failure of other work was not begun.
    stop(command, error,
         other.has_failed(error)  ? Origin::OtherWork
         : calls_begun() == begun ? Origin::Preparation
                                  : Origin::Work);
  }
}

// Where the host's memory is bounded, arrays in files are read ahead of tasks and copies, written back after
// them, and leave the host's memory with what they are dropped from.
void TaskRound::begin_copy(const tasks::TaskCommand& command) {
  CoherentState& array = *plan_.arrays[static_cast<std::size_t>(command.array)];
  FileStorage* const file = runner(command.device).files != nullptr ? file_storage_of(array) : nullptr;
  const bool is_load = command.kind == Kind::Load, has_device = device_of(command.device) != nullptr;
  Running running;
  running.command = command;
  if (file != nullptr && !has_device) {
    begin_file_work(running, *file);
    count(command);
  } else if (file != nullptr && is_load && device_of(command.source) == nullptr &&
             !plan_.tasks.array(command.array).by_parts) {
    running.file = file;
    begin_file_work(running, *file);
  } else {
    if (!is_load) running.file = file;
    begin_device_copy(running);
  }
  running_.push_back(running);
}

// Reads or writes all of the file, on a thread of those for files.
void TaskRound::begin_file_work(Running& running, FileStorage& file) {
  const bool is_load = running.command.kind == Kind::Load;
  running.work = next_work_++;
  runner(running.command.device).files->begin(running.work, [&file, is_load] {
    if (is_load) file.read_ahead();
    else file.write_back();
  });
}

void TaskRound::begin_device_copy(Running& running) {
  const tasks::TaskCommand& command = running.command;
  const Ref<CoherentState>& array = plan_.arrays[static_cast<std::size_t>(command.array)];
  DeviceInstance* const device = device_of(command.device);
  running.recoveries = WholeCopies::recoveries();
  if (device != nullptr && command.kind == Kind::Store) {
    running.event = copies_.store(*array, *device);
  } else if (device != nullptr) {
    if (plan_.tasks.array(command.array).by_parts) copies_.reserve(array, *device);
    else running.event = copies_.load(array, *device, device_of(command.source));
  }
  if (running.event) count(command);
}

void TaskRound::count(const tasks::TaskCommand& command) {
  const index_t bytes = plan_.tasks.array(command.array).bytes;
  const std::size_t part = static_cast<std::size_t>(command.device);
  if (command.kind == Kind::Store) {
    bytes_out_[part] += bytes;
    return;
  }
  bytes_in_[part] += bytes;
  const std::size_t at = static_cast<std::size_t>(command.array) * runners_.size() + part;
  if (was_there_[at]) bytes_reloaded_ += bytes;
  was_there_[at] = true;
}

void TaskRound::begin_run(const tasks::TaskCommand& command) {
  const TaskEntry& task = entry_of(command);
  Runner& where = runner(command.device);
  Running running;
  running.command = command;
  if (where.worker != nullptr) {
    running.work = next_work_++;
    where.worker->begin(running.work, [&task, part = where.part] {
      task.body->run(part, Ref<QueueState>(&part.device->default_queue()), task.label.c_str());
    });
    running_.push_back(running);
    return;
  }
  // What is only written was not loaded, and has no memory of its own yet.
  for (const tasks::TaskAccess& access : plan_.tasks.task(command.task).accesses)
    if (access.mode == AccessMode::Out)
      copies_.reserve(plan_.arrays[static_cast<std::size_t>(access.array)], *where.part.device);
  std::vector<bool>& busy = is_busy_[static_cast<std::size_t>(command.device)];
  const std::size_t queue =
      static_cast<std::size_t>(std::find(busy.begin(), busy.end(), false) - busy.begin());
  const bool is_timed = is_measured(command);
  if (is_timed) running.start = where.queues[queue]->record_timed();
  // A body is one launch or call over coherent arrays.
  running.launch =
      WholeCopies::launched_by([&] { task.body->run(where.part, where.queues[queue], task.label.c_str()); });
  running.event = is_timed ? where.queues[queue]->record_timed() : running.launch.event;
  running.queue = static_cast<int>(queue);
  busy[queue] = true;
  running_.push_back(running);
}

// The first times, and then now and again: events with a time cost some microseconds.
bool TaskRound::is_measured(const tasks::TaskCommand& command) const {
  if (options_.costs == nullptr) return false;
  constexpr long many = 10;
  const Runner& where = runners_[static_cast<std::size_t>(command.device)];
  const long count = options_.costs->count(where.part.device->device_name(), entry_of(command).label,
                                           plan_.tasks.bytes_of(command.task));
  return count < many || command.task % 16 == 0;
}

void TaskRound::drop(const tasks::TaskCommand& command) {
  CoherentState& array = *plan_.arrays[static_cast<std::size_t>(command.array)];
  DeviceInstance* const device = device_of(command.device);
  if (device != nullptr && copies_.drop(array, *device) && driver_.is_written(command.array))
    given_up_.emplace_back(&array);
  if (runner(command.device).files == nullptr) return;
  if (FileStorage* const file = file_storage_of(array)) file->give_memory_back();
}

// Ends

bool TaskRound::end_some() {
  bool has_ended = false;
  for (std::size_t k = 0; k < running_.size();) {
    if (running_[k].work >= 0 || (running_[k].event && !running_[k].event->complete())) {
      // What began later ends later, mostly: to begin what follows is worth more than to ask for the rest.
      if (has_ended && running_[k].work < 0) break;
      ++k;
      continue;
    }
    end_event(k);
    has_ended = true;
  }
  TaskMailbox::Ended ended;
  while (mailbox_.take(ended, 0)) {
    const auto at = std::find_if(running_.begin(), running_.end(),
                                 [&](const Running& running) { return running.work == ended.number; });
    if (options_.costs != nullptr && !ended.error && at->command.kind == Kind::Run)
      measures_.push_back({at->command.task, static_cast<std::size_t>(at->command.device), ended.seconds});
    has_ended = true;
    if (!ended.error && !is_stopping_ && at->file != nullptr) {
      end_file_read(static_cast<std::size_t>(at - running_.begin()));
      continue;
    }
    end(static_cast<std::size_t>(at - running_.begin()), ended.error,
        ended.is_of_others ? Origin::OtherWork : Origin::Work);
  }
  return has_ended;
}

// The file is in memory: from there it is copied to the device.
void TaskRound::end_file_read(std::size_t at) {
  Running& running = running_[at];
  running.work = -1;
  running.file = nullptr;
  const WholeCopies::OtherWork other;
  const std::uint64_t begun = calls_begun();
  try {
    begin_device_copy(running);
  } catch (...) {
    const std::exception_ptr error = std::current_exception();
    end(at, error,
        other.has_failed(error)  ? Origin::OtherWork
        : calls_begun() == begun ? Origin::Preparation
                                 : Origin::Work);
  }
}

// Its event is complete.
void TaskRound::end_event(std::size_t at) {
  std::exception_ptr error;
  if (running_[at].event) try {
      running_[at].event->wait();
      require_done(running_[at]);
    } catch (...) {
      error = std::current_exception();
    }
  if (!error && !is_stopping_ && running_[at].file != nullptr) {  // of a copy to the host
    running_[at].event = {};
    begin_file_work(running_[at], *running_[at].file);
    running_[at].file = nullptr;
    return;
  }
  end(at, error, Origin::Work);
}

// What is soonest over in virtual time; of equal times, what began first. All have ended in real time before
// anything is begun that follows from it.
void TaskRound::end_next_in_virtual_time() {
  std::size_t next = 0;
  double soonest = std::numeric_limits<double>::max();
  for (std::size_t k = 0; k < running_.size(); ++k) {
    const Ref<EventState>& event = running_[k].event;
    while (event && !event->complete()) std::this_thread::yield();
    const double time = event ? event->seconds_since(*virtual_start_) : virtual_now_;
    if (time >= soonest) continue;
    soonest = time;
    next = k;
  }
  if (soonest > virtual_now_) {
    emulated::advance(soonest - virtual_now_);
    virtual_now_ = soonest;
  }
  end_event(next);
}

// Where another thread has had the error, or has recovered from the failure, the event need not say so.
void TaskRound::require_done(const Running& running) {
  if (running.launch.event) {
    running.launch.event->wait();
    if (!running.launch.is_done())
      throw KernelError("it was under way when other work failed, and its results are not there");
  }
  DeviceInstance* const device = device_of(running.command.device);
  CoherentState* const array = running.command.kind == Kind::Store
                                   ? plan_.arrays[static_cast<std::size_t>(running.command.array)].get()
                                   : nullptr;
  if (array != nullptr && device != nullptr && WholeCopies::recoveries() != running.recoveries &&
      !WholeCopies::is_stored(*array, *device))
    throw CopyError("a copy of \"" + array->label + "\" to the host was under way when other work failed");
}

void TaskRound::end(std::size_t at, const std::exception_ptr& error, Origin origin) {
  const Running ended = std::move(running_[at]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
  if (ended.queue >= 0) {
    const std::size_t queue = static_cast<std::size_t>(ended.queue);
    is_busy_[static_cast<std::size_t>(ended.command.device)][queue] = false;
    if (!error) WholeCopies::note_end(*runner(ended.command.device).queues[queue]);
  }
  if (error) {
    if (ended.work >= 0 && ended.command.kind == Kind::Store)
      unwritten_.push_back(plan_.arrays[static_cast<std::size_t>(ended.command.array)]);
    stop(ended.command, error, origin);
    last_end_ = now();
    return;
  }
  if (ended.start) {
    const double seconds = ended.event->seconds_since(*ended.start);
    if (seconds >= 0)
      measures_.push_back({ended.command.task, static_cast<std::size_t>(ended.command.device), seconds});
  }
  if (ended.command.kind == Kind::Run) task_done(ended.command);
  const double before = now();
  if (!is_stopping_) driver_.done(ended.command, virtual_start_ ? virtual_now_ : before);
  last_end_ = now();
  decision_seconds_ += last_end_ - before;
}

void TaskRound::task_done(const tasks::TaskCommand& command) {
  plan_.sources[static_cast<std::size_t>(command.task)].entry->state = TaskEntry::State::Done;
  ++tasks_done_[static_cast<std::size_t>(command.device)];
}

// No end for a while: first the processor is kept, as most commands take microseconds.
void TaskRound::wait_for_end() {
  constexpr int few_polls = 2000;
  if (++idle_polls_ < few_polls) {
    if (idle_polls_ % 16 == 0) std::this_thread::yield();
    return;
  }
  const bool has_events =
      std::any_of(running_.begin(), running_.end(), [](const Running& running) { return !!running.event; });
  TaskMailbox::Ended ended;
  if (mailbox_.take(ended, has_events ? 20 : 1000)) mailbox_.put(std::move(ended));
  if (options_.watchdog_seconds > 0 && now() - last_end_ > options_.watchdog_seconds) {
    report_standstill();
    last_end_ = now();
  }
}

void TaskRound::report_standstill() const {
  std::string text = "the run of \"" + label_ + "\": nothing has ended for " +
                     std::to_string(static_cast<long>(now() - last_end_)) + " s. Under way:";
  for (const Running& running : running_) {
    const tasks::TaskCommand& command = running.command;
    text += "\n  on " + TaskPlan::name_of(runners_[static_cast<std::size_t>(command.device)].part) + ": ";
    if (command.kind == Kind::Run) text += "the task " + plan_.tasks.describe(command.task);
    else
      text += std::string(command.kind == Kind::Load ? "a copy to it of " : "a copy to the host of ") +
              plan_.tasks.array(command.array).label;
  }
  log_message(LogLevel::Warning, "%s", text.c_str());
}

index_t TaskRound::bytes_without_room() const {
  const tasks::TaskId task = task_without_room();
  return task != tasks::none ? plan_.sources[static_cast<std::size_t>(task)].entry->bytes()
                             : plan_.tasks.array(needs_room_.array).bytes;
}

tasks::TaskId TaskRound::task_without_room() const {
  if (without_room_ < 0) return tasks::none;
  if (needs_room_.kind == Kind::Run) return needs_room_.task;
  const auto& part = runners_[static_cast<std::size_t>(without_room_)].part;
  for (const tasks::TaskId task : plan_.tasks.users(needs_room_.array)) {
    const TaskEntry& entry = *plan_.sources[static_cast<std::size_t>(task)].entry;
    const bool is_left = entry.kind == TaskEntry::Kind::Task && entry.state == TaskEntry::State::Waiting;
    if (is_left && entry.body->runs_on(part.type)) return task;
  }
  return tasks::none;
}

// Nothing more is begun.
void TaskRound::stop(const tasks::TaskCommand& command, const std::exception_ptr& error, Origin origin) {
  is_stopping_ = true;
  if (cause_.empty()) cause_ = text_of(error);
  if (origin == Origin::OtherWork) return;
  const bool has_device = runner(command.device).part.host == nullptr;
  const bool lacks_room =
      is_out_of_memory(error) && (command.kind != Kind::Run || (has_device && origin == Origin::Preparation));
  if (lacks_room) {
    cause_ = text_of(error);  // that of tasks which fail for it, whatever ended the round
    without_room_ = command.device;
    needs_room_ = command;
  } else if (command.kind == Kind::Run) {
    failures_.push_back({command.task, text_of(error)});
  }
}

}  // namespace strata::inline STRATA_ABI::detail
