#include <algorithm>
#include <functional>
#include <limits>

#include <strata/algorithms/tasks/part_uses.hpp>
#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/running_tasks.hpp>
#include <strata/algorithms/tasks/task_executor.hpp>
#include <strata/core/runtime.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/host_access.hpp>
#include <strata/views/coherent/task_function.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using State = TaskEntry::State;

// Whether a use writes all of a part anew.
bool replaces(const TaskUse& use, const ArrayPart& part) {
  return use.mode == AccessMode::Out && covers(use.part, part);
}

constexpr int before_all = -1;              // in place of a task: all of them come later
constexpr int most_attempts = 4;            // one after the other without a task that is done
constexpr std::size_t fewest_planned = 16;  // tasks at once, where many fail

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

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), most); ++k)
    text += (k == 0 ? "\"" : ", \"") + names[k] + "\"";
  return text + (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
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
      arrays_(feed == nullptr ? "a run of a graph of tasks" : "a scope of tasks") {
  require_running("a run of a graph of tasks");
  require_no_task_function("a run of a graph of tasks");
  const std::string who = "the run of \"" + graph.label + "\": ";
  if (options.window < 1 || options.queues < 1)
    throw Error(who + "a window of " + std::to_string(options.window) + " tasks and " +
                std::to_string(options.queues) + " queues were asked for: at least 1 is needed of each");
  if (options.host_memory < 0)
    throw Error(who + "the memory of hosts is " + std::to_string(options.host_memory) +
                " bytes: give 0 for no limit, or how many there may be");
  if (!options.make_scheduler) tasks::make_scheduler(options.scheduler);  // throws for unknown names
  report_.scheduler = options.make_scheduler ? "one of the program's own" : options.scheduler;
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (std::size_t other = 0; other < k; ++other)
      if (parts[k].device == parts[other].device && parts[k].host == parts[other].host)
        throw Error(who + TaskPlan::name_of(parts[k]) + " is given twice: name each device once");
  for (const TaskPart& part : parts) memories_.push_back(memory_of(part, options));
}

void TaskExecutor::release() {
  turns_.give_back();
  arrays_.release_all();
}

void TaskExecutor::make_runners() {
  TaskWorker* files = nullptr;
  if (options_.host_memory > 0) {
    constexpr int at_a_time = 4;  // disks are fast with several requests
    workers_.push_back(std::make_unique<TaskWorker>(mailbox_, at_a_time));
    files = workers_.back().get();
  }
  for (const TaskPart& part : parts_) {
    TaskRound::Runner runner;
    runner.part = part;
    if (part.host != nullptr) {
      workers_.push_back(std::make_unique<TaskWorker>(mailbox_));
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
  const RunsTasks running;
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
  const TaskArrays::Bytes bytes = arrays_.bytes();
  report_.bytes_to_devices = static_cast<index_t>(bytes.to_devices);
  report_.bytes_from_devices = static_cast<index_t>(bytes.from_devices);
  report_.bytes_between_devices = static_cast<index_t>(bytes.between_devices);
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const bool has_lost =
      std::any_of(lost_.begin(), lost_.end(), [&](const auto& array) { return is_lost(*array.second); });
  if (!failures_.empty() || has_lost) fail();
  return report_;
}

// False: all tasks have run.
bool TaskExecutor::next_window(int begun, int& end) {
  while (true) {
    const int size = graph_.size();
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
    reserve_arrays(reserved_, size);
    reserved_ = size;
  } else {  // what threads add was checked and is held; tasks that add do not wait
    arrays_.reserve_wanted();
  }
  turns_.take();
  for (std::size_t k = 0; begun == 0 && k < parts_.size(); ++k)  // as it is in this turn
    devices_[k].memory = memory_of(parts_[k], options_);
  make_largest_fit();
  if (feed_ == nullptr || !options_.on_host) return;
  for (const TaskEntry* const task : graph_.entries(begun, end))
    for (const TaskUse& use : task->uses) for_host_.emplace(use.array.get(), use.array);
}

void TaskExecutor::end_window(int begun, int end) {
  if (feed_ == nullptr) return;
  turns_.give_back();
  std::vector<ArrayHold> holds;
  for (const TaskEntry* const task : graph_.entries(begun, end))
    for (const TaskUse& use : task->uses) holds.push_back(hold_of(use));
  arrays_.release(holds);
  graph_.forget_before(end);
}

void TaskExecutor::flush_all() {
  std::vector<Ref<CoherentState>> arrays = arrays_.all();
  for (const auto& [state, array] : for_host_) arrays.push_back(array);
  for (int attempt = 1;; ++attempt) try {
      for (const Ref<CoherentState>& array : arrays)
        if (WholeCopies::host_lacks(*array)) flush(array, array->shape.domain);
      return;
    } catch (...) {  // a copy that failed is made again
      if (attempt == most_attempts) throw;
    }
}

void TaskExecutor::check(const TaskEntry& task) const {
  if (task.kind != TaskEntry::Kind::Task) return;
  bool has_version = false, fits = false;
  const index_t bytes = feed_ == nullptr ? 0 : task.bytes();  // of a graph TaskDriver says it
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    if (!task.body->runs_on(parts_[k].type)) continue;
    has_version = true;
    fits = fits || bytes <= memories_[k];
  }
  if (fits) return;
  const std::string who = "the task \"" + task.label + "\" of \"" + graph_.label + "\" ";
  std::vector<std::string> names;
  for (const TaskPart& part : parts_) names.push_back(TaskPlan::name_of(part));
  if (!has_version)
    throw Error(
        who + "has no version for " + list_of(names) +
        ": give a device for which it has one, or a function that takes the Queue of one of these (of "
        "hosts a Queue<AnyHost>); kernels for Cuda are compiled in files of strata_add_kernels only");
  throw tasks::TaskError(who + "needs " + std::to_string(bytes) + " bytes at once, more than any of " +
                         list_of(names) +
                         " has that can run it: give it smaller arrays, or a device more memory");
}

// Arrays of a graph are kept from other threads until the end of the run. Nobody who has a turn waits for an
// array: whoever has the array may wait for the turn. Those of all windows are reserved before the first one,
// in one order, so that two runs do not wait for each other; only those that just tasks use which tasks have
// added come later.
void TaskExecutor::reserve_arrays(int first, int end) {
  std::unordered_map<CoherentState*, ArrayHold> wanted;
  for (const TaskEntry* const task : graph_.entries(first, end))
    for (const TaskUse& use : task->uses) {
      const bool is_to_write = writes(use.mode);
      const auto known = is_written_.find(use.array.get());
      if (known != is_written_.end() && (known->second || !is_to_write)) continue;
      if (known != is_written_.end()) known->second = true;
      else is_written_.emplace(use.array.get(), is_to_write);
      wanted[use.array.get()] = {use.array, is_to_write};
    }
  if (wanted.empty()) return;
  std::vector<ArrayHold> holds;
  for (auto& [array, hold] : wanted) holds.push_back(std::move(hold));
  turns_.give_back();
  arrays_.hold(std::move(holds));
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
    drop_dependents(planned);
    std::erase_if(planned, is_over);
    if (planned.empty()) continue;
    const long before = report_.tasks;
    const std::size_t failed_before = failures_.size();
    const Outcome outcome = run_round(planned, is_last && left.empty());
    most_planned_ = outcome.is_broken
                        ? std::max(fewest_planned, planned.size() / 2)
                        : std::min(2 * most_planned_, static_cast<std::size_t>(options_.window));
    const bool got_on = !outcome.is_broken || report_.tasks > before || failures_.size() > failed_before;
    attempts = got_on ? 0 : attempts + 1;
    std::erase_if(planned, is_over);
    left.insert(left.begin(), planned.begin(), planned.end());
    if (attempts < most_attempts) continue;
    drop_dependents(left);
    give_up(left, outcome.cause);
    left.clear();
  }
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
  const TaskPlan plan(graph_.label, tasks, devices_, options_.costs);
  const std::unique_ptr<tasks::TaskScheduler> scheduler = make_scheduler(plan);
  const tasks::TaskEnd end = options_.on_host && is_last ? tasks::TaskEnd::OnHost : tasks::TaskEnd::InPlace;
  TaskRound round(graph_.label, plan, runners_, mailbox_, *scheduler,
                  {end, options_.costs, options_.watchdog_seconds});
  round.run();
  add_to_report(round);
  const auto entry_of = [&](tasks::TaskId task) { return plan.sources[static_cast<std::size_t>(task)]; };
  if (options_.costs != nullptr)
    for (const TaskRound::Measure& measure : round.measures())
      options_.costs->add(parts_[measure.part].device->device_name(), entry_of(measure.task).entry->label,
                          plan.tasks.bytes_of(measure.task), measure.seconds);
  // Hints that a broken round has not come to are worth nothing: what they were for may be over.
  for (const Entry& task : tasks)
    if (task.entry->kind != TaskEntry::Kind::Task) task.entry->state = State::Done;
  if (!round.is_broken()) return {false, ""};

  WholeCopies::recover();
  for (const TaskRound::Failure& failure : round.failures()) {
    const Entry task = entry_of(failure.task);
    add_failure(task, failure.error);
    for (const TaskUse& use : task.entry->uses) set_reported(use.array);
  }
  note_losses(round.cause());
  if (const int part = round.part_without_room(); part >= 0) reduce_memory(part);
  return {true, round.cause()};
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

// Bytes of the largest task that is known and not over.
index_t TaskExecutor::largest_task() {
  index_t largest = 1;
  for (const TaskEntry* const task : graph_.entries(window_begin_, graph_.size()))
    largest = std::max(largest, task->bytes());
  return largest;
}

// The device has less memory than it was to have: others use it, too.
void TaskExecutor::reduce_memory(int part) {
  index_t& memory = devices_[static_cast<std::size_t>(part)].memory;
  memory = std::min(memory, std::max(largest_task(), memory / 4 * 3));
  has_less_memory_ = true;
}

// Tasks that came since then may need more, and get it where it was to be there.
void TaskExecutor::make_largest_fit() {
  if (!has_less_memory_) return;
  const index_t largest = largest_task();
  for (std::size_t k = 0; k < devices_.size(); ++k)
    devices_[k].memory = std::max(devices_[k].memory, std::min(largest, memories_[k]));
}

void TaskExecutor::add_failure(const Entry& task, const std::string& error) {
  task.entry->state = State::Failed;
  failures_.push_back({task.number, task.entry->label, error});
  not_done_.insert(task.number);
  add_missing(task);
}

// Its next use by this thread, and by the one that gets the report, does not report it once more.
void TaskExecutor::set_reported(const Ref<CoherentState>& array) {
  WholeCopies::set_reported(*array);
  if (feed_ != nullptr) reported_.push_back(array);
}

// Values that failures have lost, of tasks or of others.
void TaskExecutor::note_losses(const std::string& cause) {
  for (const Ref<CoherentState>& array : arrays_.lost()) {
    set_reported(array);
    lost_.emplace(array.get(), array);
    MissingParts& missing = missing_[array.get()];
    missing.array = array;
    for (const Box& box : WholeCopies::lacking(*array))
      missing.parts.push_back({before_all, {box, {}}, false});
    if (cause_of_losses_.empty()) cause_of_losses_ = cause;
  }
}

// What a task that failed, or was dropped, was to write. What is missing from an earlier task on says the
// same.
void TaskExecutor::add_missing(const Entry& task) {
  for (const TaskUse& use : task.entry->uses) {
    if (!writes(use.mode)) continue;
    MissingParts& missing = missing_[use.array.get()];
    missing.array = use.array;
    const bool is_known = std::any_of(missing.parts.begin(), missing.parts.end(), [&](const Missing& known) {
      return known.task < task.number && (!known.commutes || use.commutes) && covers(known.part, use.part);
    });
    if (!is_known) missing.parts.push_back({task.number, use.part, use.commutes});
  }
}

// What a task writes anew is not missed by those after it.
void TaskExecutor::forget_replaced(const Entry& task) {
  for (const TaskUse& use : task.entry->uses)
    if (const auto known = missing_.find(use.array.get()); known != missing_.end()) {
      std::erase_if(known->second.parts, [&](const Missing& missing) {
        return missing.task < task.number && replaces(use, missing.part);
      });
      if (known->second.parts.empty()) missing_.erase(known);
    }
}

// Whether the task depends on one that failed or was dropped: on what that was to write, or as it has to
// wait for it. An update does not depend on one with which it commutes, where the values are still there.
bool TaskExecutor::lacks_results(const Entry& task) const {
  for (const TaskUse& use : task.entry->uses) {
    const auto known = missing_.find(use.array.get());
    if (known == missing_.end()) continue;
    for (const Missing& missing : known->second.parts)
      if (missing.task < task.number && !(missing.commutes && use.commutes) &&
          overlap(missing.part, use.part) && !replaces(use, missing.part))
        return true;
  }
  return std::any_of(task.entry->after.begin(), task.entry->after.end(),
                     [&](int before) { return not_done_.count(before) > 0; });
}

// Of `tasks`, which are in program order.
void TaskExecutor::drop_dependents(const std::vector<Entry>& tasks) {
  if (missing_.empty() && not_done_.empty()) return;
  for (const Entry& task : tasks) {
    if (task.entry->state != State::Waiting || task.entry->kind != TaskEntry::Kind::Task) continue;
    if (!lacks_results(task)) {
      forget_replaced(task);
      continue;
    }
    task.entry->state = State::Dropped;
    dropped_[task.number] = task.entry->label;
    not_done_.insert(task.number);
    add_missing(task);
  }
}

// Nothing goes on: what is left has failed with what is the matter.
void TaskExecutor::give_up(const std::vector<Entry>& tasks, const std::string& cause) {
  for (const Entry& task : tasks)
    if (task.entry->state == State::Waiting && task.entry->kind == TaskEntry::Kind::Task)
      add_failure(task, cause);
}

bool TaskExecutor::is_lost(const CoherentState& array) const { return !WholeCopies::lacking(array).empty(); }

void TaskExecutor::fail() const {
  std::vector<std::string> failed, dropped, lost;
  for (const Failed& failure : failures_) failed.push_back(failure.label);
  for (const auto& [number, label] : dropped_) dropped.push_back(label);
  for (const auto& [state, array] : lost_)
    if (is_lost(*array)) lost.push_back(array->label);
  std::string text = "the run of \"" + graph_.label + "\": ";
  text += failed.empty()       ? "work beside its tasks failed"
          : failed.size() == 1 ? "a task failed, " + list_of(failed)
                               : std::to_string(failed.size()) + " tasks failed, " + list_of(failed);
  text += ": " + (failed.empty() ? cause_of_losses_ : failures_.front().error);
  if (!dropped.empty())
    text += "\n" + std::to_string(dropped.size()) +
            (dropped.size() == 1 ? " task that depends" : " tasks that depend") +
            " on this did not run: " + list_of(dropped);
  if (!lost.empty())
    text += "\nThe values of " + list_of(lost) +
            " are lost in whole or in part: write them anew before they are read";
  text += "\n" + std::to_string(report_.tasks) +
          (report_.tasks == 1 ? " other task is done" : " other tasks are done");
  throw TaskFailed(text, std::move(failed), std::move(dropped), std::move(lost));
}

}  // namespace strata::inline STRATA_ABI::detail
