// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/running_tasks.hpp>
#include <strata/algorithms/tasks/task_device.hpp>
#include <strata/algorithms/tasks/task_executor.hpp>
#include <strata/algorithms/tasks/task_room.hpp>
#include <strata/algorithms/tasks/text_file.hpp>
#include <strata/core/runtime.hpp>
#include <strata/devices/emulated/device.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/file_storage.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/coherent/task_function.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using State = TaskEntry::State;

// For contributions in a scope, to which tasks keep coming; without any they join at once.
constexpr std::chrono::milliseconds long_pending(10);
constexpr int most_attempts = 4;             // one after the other without a task that is done
constexpr std::size_t fewest_planned = 16;   // tasks at once, where many fail
constexpr std::size_t many_for_host = 1000;  // arrays that a scope remembers, at least

class RunScope {
 public:
  explicit RunScope(TaskGraphState& graph) : graph_(graph) { graph_.begin_run(); }
  ~RunScope() { graph_.end_run(); }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  TaskGraphState& graph_;
};

// Bytes for arrays on a part.
index_t memory_of(const TaskPart& part, const TaskRunOptions& options) {
  if (part.host == nullptr) return std::max<index_t>(budget_of(*part.device), 1);
  return options.host_memory > 0 ? options.host_memory : std::numeric_limits<index_t>::max() / 4;
}

}  // namespace

TaskExecutor::TaskExecutor(TaskGraphState& graph, const std::vector<TaskPart>& parts,
                           const TaskRunOptions& options, std::function<void()> join_contributions,
                           TaskFeed* feed)
    : graph_(graph),
      options_(options),
      join_contributions_(std::move(join_contributions)),
      feed_(feed),
      parts_(parts),
      turns_(parts),
      arrays_((feed == nullptr ? "the run of \"" : "the scope \"") + graph.label + "\""),
      failures_(graph.label, feed != nullptr, options.window),
      costs_(options.costs == nullptr && !options.json.empty() ? &own_costs_ : options.costs) {
  require_running("a run of a graph of tasks");
  require_no_task_function("a run of a graph of tasks");
  const std::string who = "the run of \"" + graph.label + "\": ";
  if (options.window < 1 || options.queues < 1)
    throw Error(who + "a window of " + std::to_string(options.window) + " tasks and " +
                std::to_string(options.queues) + " queues were asked for: at least 1 is needed of each");
  if (options.host_memory < 0)
    throw Error(who + "the memory of hosts is " + std::to_string(options.host_memory) +
                " bytes: give 0 for no limit, or how many there may be");
  const auto is_emulated = [](const TaskPart& part) { return part.type == task_device_type<Emulated>(); };
  if (options.in_virtual_time && !std::all_of(parts.begin(), parts.end(), is_emulated))
    throw Error(who + "in_virtual_time was asked for on devices that have none: give Emulated devices alone");
  if (!options.make_scheduler) tasks::make_scheduler(options.scheduler);  // throws for unknown names
  report_.scheduler = options.make_scheduler ? "one of the program's own" : options.scheduler;
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (std::size_t other = 0; other < k; ++other)
      if (parts[k].device == parts[other].device && parts[k].host == parts[other].host)
        throw Error(who + TaskPlan::name_of(parts[k]) + " is given twice: name each device once");
  for (const TaskPart& part : parts) memories_.push_back(memory_of(part, options));
  if (!options.json.empty()) json_.emplace(costs_);
}

void TaskExecutor::release() {
  turns_.give_back();
  arrays_.release_all();
}

void TaskExecutor::make_runners() {
  TaskWorker* files = nullptr;
  if (options_.host_memory > 0) {
    constexpr int at_a_time = 4;  // disks are fast with several requests
    workers_.push_back(std::make_unique<TaskWorker>(mailbox_, graph_, at_a_time));
    files = workers_.back().get();
  }
  for (const TaskPart& part : parts_) {
    TaskRound::Runner runner;
    runner.part = part;
    if (part.host != nullptr) {
      workers_.push_back(std::make_unique<TaskWorker>(mailbox_, graph_));
      runner.worker = workers_.back().get();
    } else {
      for (int k = 0; k < options_.queues; ++k) runner.queues.push_back(part.device->create_queue());
    }
    runner.files = files;
    devices_.push_back({part, memory_of(part, options_), part.host != nullptr ? 1 : options_.queues});
    runners_.push_back(std::move(runner));
    report_.devices.push_back({TaskPlan::name_of(part), 0, 0, 0});
  }
}

TaskReport TaskExecutor::run() {
  join_contributions_();
  const RunScope scope(graph_);
  const RunsTasks running(graph_);
  const auto start = std::chrono::steady_clock::now();
  if (feed_ == nullptr) arrays_.set_owner();
  make_runners();
  most_planned_ = static_cast<std::size_t>(options_.window);
  for (int begun = 0, end = 0; next_window(begun, end); begun = end) {
    begin_window(begun, end);
    run_window(begun, end);
    end_window(begun, end);
  }
  if (options_.on_host) flush_all();
  write_files();
  const TaskArrays::Bytes bytes = arrays_.bytes();
  report_.bytes_to_devices = static_cast<index_t>(bytes.to_devices);
  report_.bytes_from_devices = static_cast<index_t>(bytes.from_devices);
  report_.bytes_between_devices = static_cast<index_t>(bytes.between_devices);
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (failures_.has_any()) failures_.fail(report_.tasks);
  if (json_) write_text_file(options_.json, "what ran", json_->text());
  return report_;
}

// False: all tasks have run.
bool TaskExecutor::next_window(int begun, int& end) {
  while (true) {
    const int size = graph_.size();
    if (feed_ != nullptr && graph_.has_pending_for(long_pending)) join_contributions_();
    end = feed_ != nullptr ? feed_->next(begun) : begun + std::min(size - begun, options_.window);
    if (end > begun) return true;
    const bool were_all = feed_ == nullptr || feed_->is_over();
    join_contributions_();  // to which tasks have contributed that tasks have added, too
    if (were_all && graph_.size() == begun) return false;
  }
}

void TaskExecutor::begin_window(int begun, int end) {
  window_begin_ = begun;
  if (feed_ == nullptr) {
    const int size = graph_.size();
    for (const TaskEntry* task : graph_.entries(reserved_, size)) check(*task);
    if (begun == 0) reserve_arrays(0, size);
    else reserve_added_arrays(begun, reserved_, size);
    reserved_ = size;
  } else {  // what threads add was checked and is held; tasks that add do not wait
    reserve_wanted_arrays(begun, end);
  }
  turns_.take();
  for (std::size_t k = 0; begun == 0 && k < parts_.size(); ++k)  // as it is in this turn
    devices_[k].memory = memory_of(parts_[k], options_);
  make_largest_fit();
  if (feed_ != nullptr && options_.on_host) keep_for_host(begun, end);
}

void TaskExecutor::end_window(int begun, int end) {
  if (failures_.has_any()) json_.reset();  // nothing is written then
  for (int number = begun; json_ && number < end; ++number)
    if (const TaskEntry& entry = graph_.entry(number); entry.state == State::Done) json_->add(number, entry);
  if (feed_ == nullptr) return;
  turns_.give_back();
  std::vector<ArrayHold> holds;
  for (const TaskEntry* const task : graph_.entries(begun, end))
    for (const TaskUse& use : task->uses) holds.push_back(hold_of(use));
  arrays_.release(holds);
  holds.clear();
  graph_.forget_before(end);
  forget_old_arrays();
}

// Of a scope that is to leave all values on the host. Arrays that have not been used for long get there now:
// there may be any number of them.
void TaskExecutor::keep_for_host(int begun, int end) {
  for (const TaskEntry* const task : graph_.entries(begun, end))
    for (const TaskUse& use : task->uses)
      for_host_.insert_or_assign(use.array.get(), ForHost{use.array, begun});
  const std::size_t many = std::max(many_for_host, 2 * static_cast<std::size_t>(options_.window));
  if (for_host_.size() <= many) return;
  std::vector<Ref<CoherentState>> old;
  std::erase_if(for_host_, [&](const auto& known) {
    if (known.second.last_window == begun) return false;
    if (!known.second.array.is_only()) old.push_back(known.second.array);
    return true;
  });
  flush(old);
}

// Nobody can use arrays that only this knows.
void TaskExecutor::forget_old_arrays() {
  std::erase_if(denied_, [&](const TaskArrays::Denied& known) { return !arrays_.is_held(*known.array); });
  failures_.forget_dead_arrays();
  if (json_) json_->forget_dead_arrays();
}

void TaskExecutor::flush_all() {
  std::vector<Ref<CoherentState>> arrays = arrays_.all();
  for (const auto& [state, known] : for_host_) arrays.push_back(known.array);
  flush(arrays);
}

void TaskExecutor::flush(const std::vector<Ref<CoherentState>>& arrays) {
  for (int attempt = 1;; ++attempt) try {
      for (const Ref<CoherentState>& array : arrays)
        if (WholeCopies::host_lacks(*array)) detail::flush(array, array->shape.domain);
      return;
    } catch (...) {  // a copy that failed is made again
      if (attempt == most_attempts) throw;
    }
}

// Where that failed; the disk may have room by now.
void TaskExecutor::write_files() {
  for (const Ref<CoherentState>& array : unwritten_) try {
      file_storage_of(*array)->write_back();
    } catch (const Error& error) {
      failures_.add_unwritten(array->label, error.what());
    }
}

void TaskExecutor::check(const TaskEntry& task) const {
  require_device(graph_.label, task, parts_, memories_);
}

// What a task of a graph needs that is not reserved so yet.
std::vector<ArrayHold> TaskExecutor::wanted_of(const TaskEntry& task) {
  std::vector<ArrayHold> wanted;
  for (const TaskUse& use : task.uses) {
    const bool is_to_write = writes(use.mode);
    const auto known = is_written_.find(use.array.get());
    if (known == is_written_.end() || (is_to_write && !known->second))
      wanted.push_back({use.array, is_to_write});
  }
  return wanted;
}

// Arrays of a graph are kept from other threads until the end of the run. Nobody who has a turn waits for an
// array: whoever has the array may wait for the turn. Those of all windows are reserved before the first one,
// together, so that two runs do not wait for each other; only those that just tasks use which tasks have
// added come later.
void TaskExecutor::reserve_arrays(int first, int end) {
  std::unordered_map<CoherentState*, ArrayHold> wanted;
  for (const TaskEntry* const task : graph_.entries(first, end))
    for (const ArrayHold& hold : wanted_of(*task)) {
      wanted[hold.array.get()] = hold;
      is_written_[hold.array.get()] = hold.is_to_write;
    }
  std::vector<ArrayHold> holds;
  for (auto& [array, hold] : wanted) holds.push_back(std::move(hold));
  arrays_.hold(std::move(holds));
}

// Those that tasks have added. What cannot be had is the failure of the tasks that need it.
// One that depends on such a task is dropped and needs none; those before it, from `begun` on, may write anew
// what it uses.
void TaskExecutor::reserve_added_arrays(int begun, int first, int end) {
  std::vector<Entry> before;
  for (int number = first; number < end; ++number) {
    const Entry task{&graph_.entry(number), number};
    const std::vector<ArrayHold> wanted = wanted_of(*task.entry);
    if (wanted.empty()) continue;
    before.clear();
    for (; begun <= number; ++begun) before.push_back({&graph_.entry(begun), begun});
    failures_.drop_dependents(before);
    if (task.entry->kind != TaskEntry::Kind::Task) task.entry->state = State::Done;  // nobody has it here
    if (task.entry->state != State::Waiting) continue;
    turns_.give_back();
    try {
      arrays_.hold(wanted);
      for (const ArrayHold& hold : wanted) is_written_[hold.array.get()] = hold.is_to_write;
    } catch (...) {
      failures_.add(task, text_of(std::current_exception()));
    }
  }
}

// The same in a scope, whose windows are reserved as they begin.
void TaskExecutor::reserve_wanted_arrays(int begun, int end) {
  for (TaskArrays::Denied& denied : arrays_.reserve_wanted()) denied_.push_back(std::move(denied));
  if (denied_.empty()) return;
  const std::vector<TaskEntry*> entries = graph_.entries(begun, end);
  for (std::size_t k = 0; k < entries.size(); ++k) {
    const Entry task{entries[k], begun + static_cast<int>(k)};
    failures_.drop_dependents({task});
    if (task.entry->state != State::Waiting) continue;
    for (const TaskUse& use : task.entry->uses) {
      const auto denied = std::find_if(denied_.begin(), denied_.end(), [&](const TaskArrays::Denied& known) {
        return known.array == use.array;
      });
      if (denied == denied_.end() || arrays_.has(*use.array, writes(use.mode))) continue;
      if (task.entry->kind != TaskEntry::Kind::Task) task.entry->state = State::Done;
      else failures_.add(task, text_of(denied->error));
      break;
    }
  }
}

void TaskExecutor::run_window(int begun, int end) {
  std::vector<Entry> left;
  const std::vector<TaskEntry*> entries = graph_.entries(begun, end);
  for (std::size_t k = 0; k < entries.size(); ++k) left.push_back({entries[k], begun + static_cast<int>(k)});
  const auto is_over = [](const Entry& entry) { return entry.entry->state != State::Waiting; };
  const bool is_last = feed_ == nullptr && end == graph_.size();
  int attempts = 0;
  while (!left.empty()) {
    std::vector<Entry> planned(
        left.begin(), left.begin() + static_cast<std::ptrdiff_t>(std::min(left.size(), most_planned_)));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(planned.size()));
    failures_.drop_dependents(planned);
    std::erase_if(planned, is_over);
    if (planned.empty()) continue;
    const long before = report_.tasks;
    const long failed_before = failures_.num_failed();
    const Outcome outcome = run_round(planned, is_last && left.empty());
    most_planned_ = outcome.is_broken
                        ? std::max(fewest_planned, planned.size() / 2)
                        : std::min(2 * most_planned_, static_cast<std::size_t>(options_.window));
    const bool got_on =
        !outcome.is_broken || report_.tasks > before || failures_.num_failed() > failed_before;
    attempts = got_on ? 0 : attempts + 1;
    std::erase_if(planned, is_over);
    left.insert(left.begin(), planned.begin(), planned.end());
    if (attempts < most_attempts) continue;
    // What a device lacks memory for is for others, or fails; the rest has attempts of its own.
    failures_.drop_dependents(left);
    if (outcome.bytes_without_room > 0) leave_out(outcome, left);
    else give_up(left, outcome.cause);
    std::erase_if(left, is_over);
    attempts = 0;
  }
  note_unwritten(entries);
}

// Values that a broken round gave up while a task was to write them are lost where the first task that has
// not run reads them, such as an update that failed. Else that task writes all anew, in a later round.
void TaskExecutor::note_given_up(const std::vector<Ref<CoherentState>>& arrays,
                                 const std::vector<Entry>& tasks) {
  const auto is_read_next = [&](const CoherentState* array) {
    for (const Entry& task : tasks)
      if (task.entry->state != State::Done)
        for (const TaskUse& use : task.entry->uses)
          if (use.array.get() == array) return use.mode != AccessMode::Out;
    return false;
  };
  for (const Ref<CoherentState>& array : arrays) {
    if (WholeCopies::lacking(*array).empty()) continue;
    if (is_read_next(array.get())) WholeCopies::add_loss(*array);
    else given_up_.insert_or_assign(array.get(), array);
  }
}

// Values are lost that were given up for a task that was to write all of them anew, and did not.
void TaskExecutor::note_unwritten(const std::vector<TaskEntry*>& tasks) {
  std::vector<Ref<CoherentState>> lost;
  for (const TaskEntry* const task : tasks) {
    if (given_up_.empty()) break;
    if (task->state != State::Failed && task->state != State::Dropped) continue;
    for (const TaskUse& use : task->uses)
      if (const auto known = given_up_.find(use.array.get());
          known != given_up_.end() && writes(use.mode) && !WholeCopies::lacking(*use.array).empty()) {
        lost.push_back(use.array);
        given_up_.erase(known);
      }
  }
  given_up_.clear();
  failures_.note_losses(lost, "");
}

std::unique_ptr<tasks::TaskScheduler> TaskExecutor::make_scheduler(const TaskPlan& plan) const {
  tasks::SchedulerOptions options;
  options.priorities = plan.priorities;
  options.tasks_ahead = tasks_at_once(plan);
  if (!options_.make_scheduler) return tasks::make_scheduler(options_.scheduler, options);
  return std::unique_ptr<tasks::TaskScheduler>(options_.make_scheduler(options));
}

// How many tasks a device is to have at a time. Schedulers know it for memory that is short and work that
// several devices share; where one device holds all, its queues are to be busy and have something to go on
// with, as each begin and end costs the host some microseconds.
int TaskExecutor::tasks_at_once(const TaskPlan& plan) const {
  constexpr int as_the_scheduler_has_it = 0;
  if (devices_.size() != 1 || parts_.front().host != nullptr) return as_the_scheduler_has_it;
  index_t bytes = 0;
  for (tasks::ArrayId array = 0; array < plan.tasks.num_arrays(); ++array) {
    bytes += plan.tasks.array(array).bytes;
    if (bytes > devices_.front().memory) return as_the_scheduler_has_it;
  }
  return 2 * options_.queues;
}

// Tasks until all are done or something fails.
TaskExecutor::Outcome TaskExecutor::run_round(const std::vector<Entry>& tasks, bool is_last) {
  const TaskPlan plan(graph_.label, tasks, devices_, costs_);
  const std::unique_ptr<tasks::TaskScheduler> scheduler = make_scheduler(plan);
  const tasks::TaskEnd end = options_.on_host && is_last ? tasks::TaskEnd::OnHost : tasks::TaskEnd::InPlace;
  TaskRound round(graph_.label, plan, runners_, mailbox_, *scheduler,
                  {end, costs_, options_.watchdog_seconds, options_.in_virtual_time});
  round.run();
  add_to_report(round);
  for (const Ref<CoherentState>& array : round.unwritten())
    if (std::find(unwritten_.begin(), unwritten_.end(), array) == unwritten_.end())
      unwritten_.push_back(array);
  const auto entry_of = [&](tasks::TaskId task) { return plan.sources[static_cast<std::size_t>(task)]; };
  if (costs_ != nullptr)
    for (const TaskRound::Measure& measure : round.measures())
      costs_->add(parts_[measure.part].device->device_name(), entry_of(measure.task).entry->label,
                  plan.tasks.bytes_of(measure.task), measure.seconds);
  // Hints that a broken round has not come to are worth nothing: what they were for may be over.
  for (const Entry& task : tasks)
    if (task.entry->kind != TaskEntry::Kind::Task) task.entry->state = State::Done;
  if (!round.is_broken()) return {false, ""};

  WholeCopies::recover();
  for (const TaskRound::Failure& failure : round.failures()) {
    const Entry task = entry_of(failure.task);
    failures_.add(task, failure.error);
    for (const TaskUse& use : task.entry->uses) failures_.set_reported(use.array);
  }
  note_given_up(round.given_up(), tasks);
  failures_.note_losses(arrays_.lost(), round.cause());
  Outcome outcome{true, round.cause()};
  if (round.part_without_room() < 0) return outcome;
  outcome.full_part = static_cast<std::size_t>(round.part_without_room());
  reduce_memory(outcome.full_part, known_tasks(), devices_);
  has_less_memory_ = true;
  outcome.bytes_without_room = round.bytes_without_room();
  if (const tasks::TaskId task = round.task_without_room(); task != tasks::none)
    outcome.without_room = entry_of(task);
  return outcome;
}

void TaskExecutor::add_to_report(const TaskRound& round) {
  for (std::size_t k = 0; k < runners_.size(); ++k) {
    report_.devices[k].tasks += round.tasks_done()[k];
    report_.devices[k].bytes_in += round.bytes_in()[k];
    report_.devices[k].bytes_out += round.bytes_out()[k];
    report_.tasks += round.tasks_done()[k];
  }
  report_.bytes_reloaded += round.bytes_reloaded();
  report_.decision_seconds += round.decision_seconds();
}

std::vector<TaskEntry*> TaskExecutor::known_tasks() const {
  return graph_.entries(window_begin_, graph_.size());
}

// A part has no room for a task, whatever leaves. Nor has it for those that lack as much; they fail where no
// other part can run them. The task itself fails, too, where the part has to stay in the plan for larger
// ones. The same for an array that the scheduler has sent there for no task.
void TaskExecutor::leave_out(const Outcome& outcome, const std::vector<Entry>& tasks) {
  const TaskEntry* const first = outcome.without_room.entry;
  if (first != nullptr && first->state != State::Waiting) return;  // it was dropped
  const TaskPart& part = devices_[outcome.full_part].part;
  const index_t bytes = outcome.bytes_without_room,
                lacking = first != nullptr ? bytes_lacking(*first, part) : bytes;
  for (const Entry& task : tasks) {  // in program order: what one replaces those before it may lack
    failures_.drop_dependents({task});
    if (needs_part(*task.entry, outcome.full_part, devices_) &&
        (task.entry == first || bytes_lacking(*task.entry, part) >= lacking))
      give_up({task}, outcome.cause);
  }
  if (first != nullptr && first->state != State::Waiting) return;  // it was one of them
  index_t& memory = devices_[outcome.full_part].memory;
  if (largest_that_needs(outcome.full_part, known_tasks(), devices_) < bytes)
    memory = std::min(memory, std::max<index_t>(bytes - 1, 1));
  else if (first != nullptr) give_up({outcome.without_room}, outcome.cause);
  else
    for (const Entry& task : tasks)
      if (needs_part(*task.entry, outcome.full_part, devices_) && task.entry->bytes() >= bytes)
        give_up({task}, outcome.cause);
}

// Tasks that came since then may need more, and get it where it was to be there.
void TaskExecutor::make_largest_fit() {
  if (!has_less_memory_) return;
  const index_t largest = largest_of(known_tasks());
  for (std::size_t k = 0; k < devices_.size(); ++k)
    devices_[k].memory = std::max(devices_[k].memory, std::min(largest, memories_[k]));
}

// Nothing goes on: what is left has failed with what is the matter.
void TaskExecutor::give_up(const std::vector<Entry>& tasks, const std::string& cause) {
  for (const Entry& task : tasks)
    if (task.entry->state == State::Waiting && task.entry->kind == TaskEntry::Kind::Task)
      failures_.add(task, cause);
}

}  // namespace strata::inline STRATA_ABI::detail
