#include <algorithm>
#include <limits>
#include <queue>

#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/algorithms/tasks/simulator/timed_scheduler.hpp>

namespace strata::inline STRATA_ABI::tasks {

namespace {

using Kind = TaskCommand::Kind;

// Commands under way, by the time of their end; of equal times, the one that began first.
class Clock {
 public:
  Clock(const TaskDag& graph, const Machine& machine, Simulation& result)
      : graph_(graph),
        machine_(machine),
        result_(result),
        free_at_(2 * machine.links().size()),
        idle_at_(static_cast<std::size_t>(machine.num_devices())) {
    result_.links.resize(machine.links().size());
    result_.busy_seconds.resize(static_cast<std::size_t>(machine.num_devices()));
  }

  void begin(const TaskCommand& command) {
    SimulatedStep step{command, now_, now_};
    if (command.kind == Kind::Run) {
      const std::size_t device = static_cast<std::size_t>(command.device);
      const double seconds = machine_.run_seconds(graph_, command.task, command.device);
      result_.busy_seconds[device] += seconds;
      if (machine_.device(command.device).runs_in_turn) step.begin = std::max(now_, idle_at_[device]);
      step.end = idle_at_[device] = step.begin + seconds;
    } else {
      const bool is_load = command.kind == Kind::Load;
      copy(is_load ? command.source : command.device, is_load ? command.device : host, step);
    }
    running_.push({step, next_++});
  }
  bool is_idle() const { return running_.empty(); }
  SimulatedStep end_one() {
    const SimulatedStep step = running_.top().step;
    running_.pop();
    now_ = step.end;
    return step;
  }
  double now() const { return now_; }

 private:
  struct Entry {
    SimulatedStep step;
    long number;
    bool operator<(const Entry& other) const {  // a priority_queue has the largest on top
      return step.end > other.step.end || (step.end == other.step.end && number > other.number);
    }
  };

  void copy(DeviceId from, DeviceId to, SimulatedStep& step) {
    const index_t bytes = graph_.array(step.command.array).bytes;
    const std::size_t link = static_cast<std::size_t>(machine_.link_between(from, to));
    const bool is_backwards = machine_.links()[link].duplex && from > to;
    double& free_at = free_at_[2 * link + (is_backwards ? 1 : 0)];
    const double seconds = machine_.copy_seconds(from, to, bytes);
    step.begin = std::max(now_, free_at);
    step.end = free_at = step.begin + seconds;
    result_.links[link].bytes += bytes;
    result_.links[link].busy_seconds += seconds;
  }

  const TaskDag& graph_;
  const Machine& machine_;
  Simulation& result_;
  std::vector<double> free_at_;  // of links, there and back
  std::vector<double> idle_at_;  // of devices whose tasks run in turn
  std::priority_queue<Entry> running_;
  double now_ = 0;
  long next_ = 0;
};

}  // namespace

Simulation simulate(const TaskDag& graph, const Machine& machine, TaskScheduler& scheduler, bool keep_steps) {
  Simulation result;
  TimedScheduler timed(scheduler);
  TaskDriver driver(graph, machine, timed);
  Clock clock(graph, machine, result);
  driver.start();
  while (true) {
    TaskCommand command;
    while (driver.next(command))
      if (command.kind != Kind::Drop) clock.begin(command);
    if (driver.is_finished()) break;
    if (clock.is_idle()) driver.fail_stuck();
    const SimulatedStep step = clock.end_one();
    if (keep_steps) result.steps.push_back(step);
    driver.done(step.command, clock.now());
  }
  result.seconds = clock.now();
  result.traffic = driver.traffic();
  result.order = driver.order();
  result.decision_seconds = timed.seconds();
  std::vector<double> decisions = timed.decisions();
  if (!decisions.empty()) {
    const auto at = decisions.begin() + static_cast<std::ptrdiff_t>(decisions.size() * 99 / 100);
    std::nth_element(decisions.begin(), at, decisions.end());
    result.longest_decisions = *at;
  }
  return result;
}

double TaskBounds::seconds() const { return std::max({work_seconds, path_seconds, link_seconds}); }

TaskBounds bounds_of(const TaskDag& graph, const Machine& machine, index_t least_bytes_in) {
  machine.require_fit(graph);
  TaskBounds bounds;
  std::vector<double> path(static_cast<std::size_t>(graph.num_tasks()));
  for (const TaskId task : graph.order()) {
    double seconds = std::numeric_limits<double>::max();
    for (DeviceId device = 0; device < machine.num_devices(); ++device)
      if (machine.can_run(graph, task, device))
        seconds = std::min(seconds, machine.run_seconds(graph, task, device));
    bounds.work_seconds += seconds / machine.num_devices();
    double begin = 0;
    for (const TaskId before : graph.predecessors(task))
      begin = std::max(begin, path[static_cast<std::size_t>(before)]);
    path[static_cast<std::size_t>(task)] = begin + seconds;
    bounds.path_seconds = std::max(bounds.path_seconds, begin + seconds);
  }
  for (ArrayId array = 0; array < graph.num_arrays(); ++array) {
    bool is_written = false, is_read_first = false, is_first = true;
    for (const TaskId task : graph.users(array))
      for (const TaskAccess& access : graph.task(task).accesses) {
        if (access.array != array) continue;
        is_read_first = is_read_first || (is_first && access.reads());
        is_written = is_written || access.writes();
        is_first = false;
      }
    if (is_read_first) bounds.bytes_in += graph.array(array).bytes;
    if (is_written) bounds.bytes_out += graph.array(array).bytes;
  }
  bounds.bytes_in = std::max(bounds.bytes_in, least_bytes_in);

  // The host's links, each once: of duplex ones both ways work at the same time.
  double one_way = 0, shared = 0;
  std::vector<bool> is_counted(machine.links().size());
  for (DeviceId device = 0; device < machine.num_devices(); ++device) {
    const std::size_t link = static_cast<std::size_t>(machine.link_between(host, device));
    if (is_counted[link]) continue;
    is_counted[link] = true;
    (machine.links()[link].duplex ? one_way : shared) += machine.links()[link].bytes_per_second;
  }
  const double in = static_cast<double>(bounds.bytes_in), out = static_cast<double>(bounds.bytes_out);
  // A link that is shared may serve one way only: neither way is faster than all links, both together not
  // than duplex ones twice.
  bounds.link_seconds =
      std::max({in / (one_way + shared), out / (one_way + shared), (in + out) / (2 * one_way + shared)});
  return bounds;
}

}  // namespace strata::inline STRATA_ABI::tasks
