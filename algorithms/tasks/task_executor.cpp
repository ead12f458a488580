#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include <strata/algorithms/tasks/plan/schedulers.hpp>
#include <strata/algorithms/tasks/task_executor.hpp>
#include <strata/core/runtime.hpp>
#include <strata/views/coherent/acting_thread.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/host_access.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using State = TaskEntry::State;

// Whether a use writes all of a part anew.
bool replaces(const TaskUse& use, const ArrayPart& part) {
  bool all = use.mode == AccessMode::Out;
  part.visit([&](const Box& box) {
    bool is_in = false;
    use.part.visit([&](const Box& mine) { is_in = is_in || mine.contains(box); });
    all = all && is_in;
  });
  return all;
}

constexpr int before_all = -1;    // in place of a task: all of them come later
constexpr int most_attempts = 4;  // one after the other without a task that is done

class RunScope {
 public:
  explicit RunScope(TaskGraphState& graph) : graph_(graph) { graph_.begin_run(); }
  ~RunScope() { graph_.end_run(); }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  TaskGraphState& graph_;
};

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), most); ++k)
    text += (k == 0 ? "\"" : ", \"") + names[k] + "\"";
  return text + (names.size() > most ? " and " + std::to_string(names.size() - most) + " more" : "");
}

}  // namespace

TaskExecutor::TaskExecutor(TaskGraphState& graph, const std::vector<TaskPart>& parts,
                           const TaskRunOptions& options, std::function<void()> join_contributions)
    : graph_(graph), options_(options), join_contributions_(std::move(join_contributions)), parts_(parts) {
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
}

void TaskExecutor::make_runners(const std::vector<TaskPart>& parts) {
  for (const TaskPart& part : parts) {
    TaskRound::Runner runner;
    runner.part = part;
    if (part.host != nullptr) {
      workers_.push_back(std::make_unique<TaskWorker>(mailbox_));
      runner.worker = workers_.back().get();
      if (options_.host_memory > 0) {
        workers_.push_back(std::make_unique<TaskWorker>(mailbox_));
        runner.files = workers_.back().get();
      }
      devices_.push_back(
          {part, options_.host_memory > 0 ? options_.host_memory : std::numeric_limits<index_t>::max() / 4,
           1});
    } else {
      for (int k = 0; k < options_.queues; ++k) runner.queues.push_back(part.device->create_queue());
      devices_.push_back({part, std::max<index_t>(WholeCopies::budget(*part.device), 1), options_.queues});
    }
    runners_.push_back(std::move(runner));
    report_.devices.push_back({TaskPlan::name_of(part), 0, 0, 0});
  }
}

TaskReport TaskExecutor::run() {
  join_contributions_();
  const RunScope scope(graph_);
  const auto start = std::chrono::steady_clock::now();
  take_turns();
  make_runners(parts_);
  int begun = 0, reserved = 0;
  while (begun < graph_.size()) {
    const int size = graph_.size(), end = std::min(size, begun + options_.window);
    check_versions();  // of tasks that tasks have added, too
    reserve_arrays(reserved, size);
    reserved = size;
    std::vector<int> window;
    for (int k = begun; k < end; ++k) window.push_back(k);
    run_window(window, end == graph_.size());
    begun = end;
    if (begun == graph_.size())
      join_contributions_();  // to which tasks have contributed that tasks have added
  }
  if (options_.on_host) flush_all();
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    const TransferCounters now = counters_of(*arrays_[k]), &before = counters_before_[k];
    report_.bytes_to_devices += static_cast<index_t>(now.host_to_device.bytes - before.host_to_device.bytes);
    report_.bytes_from_devices +=
        static_cast<index_t>(now.device_to_host.bytes - before.device_to_host.bytes);
    report_.bytes_between_devices += static_cast<index_t>(now.peer.bytes - before.peer.bytes);
  }
  report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!failures_.empty() || has_lost()) fail();
  return report_;
}

// Each run plans with the whole budget of its devices. Turns come before arrays, and in one order.
void TaskExecutor::take_turns() {
  static std::mutex all;
  static auto* const of_devices = new std::map<const DeviceInstance*, std::mutex>;
  std::vector<DeviceInstance*> devices;
  for (const TaskPart& part : parts_)
    if (part.host == nullptr) devices.push_back(part.device);
  std::sort(devices.begin(), devices.end(), std::less<>());
  for (DeviceInstance* const device : devices) {
    std::mutex* turn = nullptr;
    {
      const std::lock_guard lock(all);
      turn = &(*of_devices)[device];
    }
    turns_.emplace_back(*turn);
  }
}

void TaskExecutor::flush_all() {
  for (int attempt = 1;; ++attempt) try {
      for (const Ref<CoherentState>& array : arrays_)
        if (WholeCopies::host_lacks(*array)) flush(array, array->shape.domain);
      return;
    } catch (...) {  // a copy that failed is made again
      if (attempt == most_attempts) throw;
    }
}

void TaskExecutor::check_versions() {
  for (const int end = graph_.size(); num_checked_ < end; ++num_checked_) {
    const TaskEntry& task = graph_.entry(num_checked_);
    if (task.kind != TaskEntry::Kind::Task) continue;
    if (std::any_of(parts_.begin(), parts_.end(),
                    [&](const TaskPart& part) { return task.body->runs_on(part.type); }))
      continue;
    std::vector<std::string> names;
    for (const TaskPart& part : parts_) names.push_back(TaskPlan::name_of(part));
    throw Error(
        "the task \"" + task.label + "\" of \"" + graph_.label + "\" has no version for " + list_of(names) +
        ": give a device for which it has one, or a function that takes the Queue of one of these (of hosts "
        "a Queue<AnyHost>); kernels for Cuda are compiled in files of strata_add_kernels only");
  }
}

// Arrays are kept from other threads until the end of the run. Those of all windows are reserved before the
// first one, in one order, so that two runs do not wait for each other; only those that just tasks use which
// tasks have added come later.
void TaskExecutor::reserve_arrays(int first, int end) {
  std::unordered_map<CoherentState*, bool> is_written;
  for (int k = first; k < end; ++k)
    for (const TaskUse& use : graph_.entry(k).uses)
      if (bool& is_to_write = is_written[use.array.get()]; writes(use.mode)) is_to_write = true;
  struct Wanted {
    Ref<CoherentState> array;
    bool is_to_write;
  };
  std::vector<Wanted> wanted;
  for (const auto& [array, is_to_write] : is_written)
    wanted.push_back({Ref<CoherentState>(array), is_to_write});
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    return std::less<const CoherentState*>()(a.array.get(), b.array.get());
  });
  for (const Wanted& w : wanted) {
    const auto [known, is_new] = index_.emplace(w.array.get(), arrays_.size());
    if (!is_new && (is_to_write_[known->second] || !w.is_to_write)) continue;
    reservations_.emplace_back(w.array, ArrayPart{w.array->shape.domain, {}}, w.is_to_write,
                               "a run of a graph of tasks");
    check_file_use(*w.array, w.is_to_write);
    if (w.is_to_write) mark_file_incomplete(*w.array);
    if (!is_new) {
      is_to_write_[known->second] = true;
      continue;
    }
    arrays_.push_back(w.array);
    is_to_write_.push_back(w.is_to_write);
    counters_before_.push_back(counters_of(*w.array));
    losses_.push_back(WholeCopies::losses(*w.array));
  }
}

std::vector<int> TaskExecutor::tasks_left(const std::vector<int>& window) const {
  std::vector<int> left;
  for (const int task : window)
    if (graph_.entry(task).state == State::Waiting) left.push_back(task);
  return left;
}

void TaskExecutor::run_window(const std::vector<int>& window, bool is_last) {
  drop_dependents(window);
  int attempts = 0;
  for (std::vector<int> left = tasks_left(window); !left.empty(); left = tasks_left(window)) {
    const long before = report_.tasks;
    const std::size_t failed_before = failures_.size();
    const std::string cause = run_round(left, is_last);
    attempts = report_.tasks > before || failures_.size() > failed_before ? 0 : attempts + 1;
    if (attempts == most_attempts) give_up(left, cause);
  }
}

std::unique_ptr<tasks::TaskScheduler> TaskExecutor::make_scheduler(const TaskPlan& plan) const {
  tasks::SchedulerOptions options;
  options.priorities = plan.priorities;
  if (!options_.make_scheduler) return tasks::make_scheduler(options_.scheduler, options);
  return std::unique_ptr<tasks::TaskScheduler>(options_.make_scheduler(options));
}

// Tasks until all are done or something fails. The text of what failed, where that was no task.
std::string TaskExecutor::run_round(const std::vector<int>& tasks, bool is_last) {
  const TaskPlan plan(graph_, tasks, devices_, options_.costs);
  const std::unique_ptr<tasks::TaskScheduler> scheduler = make_scheduler(plan);
  const tasks::TaskEnd end = options_.on_host && is_last ? tasks::TaskEnd::OnHost : tasks::TaskEnd::InPlace;
  TaskRound round(graph_, plan, runners_, mailbox_, *scheduler,
                  {end, options_.costs, options_.watchdog_seconds});
  round.run();
  add_to_report(round);
  if (options_.costs != nullptr)
    for (const TaskRound::Measure& measure : round.measures())
      options_.costs->add(parts_[measure.part].device->device_name(),
                          graph_.entry(plan.numbers[static_cast<std::size_t>(measure.task)]).label,
                          plan.tasks.bytes_of(measure.task), measure.seconds);
  // Hints that a broken round has not come to are worth nothing: what they were for may be over.
  for (const int entry : tasks)
    if (graph_.entry(entry).kind != TaskEntry::Kind::Task) graph_.entry(entry).state = State::Done;
  if (!round.is_broken()) return "";

  WholeCopies::recover();
  for (const TaskRound::Failure& failure : round.failures()) {
    graph_.entry(failure.task).state = State::Failed;
    failures_.push_back(failure);
    add_missing(failure.task);
    for (const TaskUse& use : graph_.entry(failure.task).uses) WholeCopies::set_reported(*use.array);
  }
  note_losses(round.cause());
  drop_dependents(tasks);
  if (const int part = round.part_without_room(); part >= 0) reduce_memory(part);
  return round.cause();
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

// The device has less memory than it was to have: others use it, too.
void TaskExecutor::reduce_memory(int part) {
  index_t largest = 1;
  for (int number = 0; number < graph_.size(); ++number) {
    index_t bytes = 0;
    for (const TaskUse& use : graph_.entry(number).uses) bytes += WholeCopies::bytes(*use.array);
    largest = std::max(largest, bytes);
  }
  index_t& memory = devices_[static_cast<std::size_t>(part)].memory;
  memory = std::min(memory, std::max(largest, memory / 4 * 3));
}

// Values that failures have lost, of tasks or of others.
void TaskExecutor::note_losses(const std::string& cause) {
  for (std::size_t k = 0; k < arrays_.size(); ++k) {
    const std::uint64_t losses = WholeCopies::losses(*arrays_[k]);
    if (losses == losses_[k]) continue;
    losses_[k] = losses;
    WholeCopies::set_reported(*arrays_[k]);
    lost_.insert(arrays_[k].get());
    for (const Box& box : WholeCopies::lacking(*arrays_[k]))
      missing_[arrays_[k].get()].push_back({before_all, {box, {}}, false});
    if (cause_of_losses_.empty()) cause_of_losses_ = cause;
  }
}

// What a task that failed, or was dropped, was to write.
void TaskExecutor::add_missing(int number) {
  for (const TaskUse& use : graph_.entry(number).uses) {
    if (!writes(use.mode)) continue;
    missing_[use.array.get()].push_back({number, use.part, use.commutes});
  }
}

// What a task writes anew is not missed by those after it.
void TaskExecutor::forget_replaced(int number) {
  for (const TaskUse& use : graph_.entry(number).uses)
    if (const auto known = missing_.find(use.array.get()); known != missing_.end())
      std::erase_if(known->second, [&](const Missing& missing) {
        return missing.task < number && replaces(use, missing.part);
      });
}

// Whether the task depends on one that failed or was dropped: on what that was to write, or as it was told to
// wait for it. An update does not depend on one with which it commutes, where the values are still there.
bool TaskExecutor::lacks_results(int number) {
  const TaskEntry& task = graph_.entry(number);
  for (const TaskUse& use : task.uses) {
    const auto known = missing_.find(use.array.get());
    if (known == missing_.end()) continue;
    for (const Missing& missing : known->second)
      if (missing.task < number && !(missing.commutes && use.commutes) && overlap(missing.part, use.part) &&
          !replaces(use, missing.part))
        return true;
  }
  return std::any_of(task.after.begin(), task.after.end(), [&](int before) {
    const State state = graph_.entry(before).state;
    return state == State::Failed || state == State::Dropped;
  });
}

// Of `tasks`, which are in program order.
void TaskExecutor::drop_dependents(const std::vector<int>& tasks) {
  if (missing_.empty() && failures_.empty()) return;
  for (const int number : tasks) {
    TaskEntry& entry = graph_.entry(number);
    if (entry.state != State::Waiting || entry.kind != TaskEntry::Kind::Task) continue;
    if (lacks_results(number)) {
      entry.state = State::Dropped;
      add_missing(number);
    } else {
      forget_replaced(number);
    }
  }
}

// Nothing goes on: what is left has failed with what is the matter.
void TaskExecutor::give_up(const std::vector<int>& tasks, const std::string& cause) {
  for (const int task : tasks) {
    if (graph_.entry(task).state != State::Waiting) continue;
    graph_.entry(task).state = State::Failed;
    failures_.push_back({task, cause});
    add_missing(task);
  }
}

bool TaskExecutor::is_lost(const CoherentState& array) const {
  return lost_.count(&array) > 0 && !WholeCopies::lacking(array).empty();
}
bool TaskExecutor::has_lost() const {
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [&](const Ref<CoherentState>& array) { return is_lost(*array); });
}

void TaskExecutor::fail() const {
  std::vector<std::string> failed, dropped, lost;
  for (const TaskRound::Failure& failure : failures_) failed.push_back(graph_.entry(failure.task).label);
  for (int k = 0; k < graph_.size(); ++k)
    if (graph_.entry(k).state == State::Dropped) dropped.push_back(graph_.entry(k).label);
  for (const Ref<CoherentState>& array : arrays_)
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
