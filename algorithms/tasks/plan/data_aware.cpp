// data-aware where memory is short: our own. All outputs are planned into packages (package_plan.hpp) before
// the run. A device takes one, whose outputs stay in its memory until they are finished, and streams what
// their tasks read: of the ready tasks of its package always those first that lack nothing, then those of the
// array that frees the earliest, of these one that another device has. It knows arrays, accesses, costs and
// the graph, and nothing else.
//
// Tasks are given ahead as far as their arrays fit the memory beside the package. Before its last tasks run
// the next package is known, whose outputs are prefetched as those of this one go; these are stored as soon
// as they are finished. Victims are first what nobody needs, then what no package under way needs, then
// streamed arrays; outputs last.
//
// Packages of several devices do not end at the same time, and wait for each other's results. Where that
// costs more than what more copies would, a device that will soon have nothing to run takes outputs over from
// the one with most work left, so that none is idle while others have tasks that are ready.
// SPDX-License-Identifier: Apache-2.0
#include <compare>
#include <deque>
#include <limits>

#include <strata/algorithms/tasks/plan/missing_arrays.hpp>
#include <strata/algorithms/tasks/plan/package_plan.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>
#include <strata/algorithms/tasks/plan/victim_order.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class DataAware final : public PriorityScheduler {
 public:
  DataAware(const SchedulerOptions& options, StructuralOrder order, std::vector<OutputPackage> packages,
            TakeOver take_over, std::vector<bool> left_out)
      : PriorityScheduler(options),
        packages_(std::move(packages)),
        order_(std::move(order)),
        take_over_(take_over),
        left_out_(std::move(left_out)) {}

  void ready(TaskId task, DeviceId) override {
    const std::size_t k = static_cast<std::size_t>(task);
    is_ready_[k] = true;
    if (outputs_[k] == none) free_.push_back(task);
    else if (owners_[k] != none) missing_.add(entry_of(task), owners_[k]);
  }
  void loaded(ArrayId array, DeviceId device) override {
    order_of_victims_.insert(array, device, kind_of(array, device));
    set_held(array, device, true);
  }
  void evicted(ArrayId array, DeviceId device) override {
    order_of_victims_.remove(array, device);
    set_held(array, device, false);
  }
  void done(TaskId task, DeviceId device) override {
    // Where the one that it was given to cannot run it, another one did.
    const DeviceId given = given_to_[static_cast<std::size_t>(task)];
    Device& own = state(given);
    --own.num_assigned;
    const ArrayId output = outputs_[static_cast<std::size_t>(task)];
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      const std::size_t k = static_cast<std::size_t>(access.array);
      if (access.array == output) --own.output_tasks[k];
      if (--own.assigned_uses[k] == 0 && own.output_tasks[k] == 0) own.committed -= bytes_of(access.array);
      order_of_victims_.use(access.array, device);
      const bool is_last = --uses_left_[k] == 0;
      if (--own.uses[k] == 0 || is_last) set_kinds(access.array);
      else set_kind(access.array, given);
      if (access.writes() && --writes_left_[k] == 0) state(device).finished.push_back(access.array);
      update(access.array, given);
    }
  }
  TaskId assign(DeviceId device) override {
    if (left_out_[static_cast<std::size_t>(device)]) return none;
    Device& own = state(device);
    if (!free_.empty()) {
      const TaskId task = free_.front();
      free_.pop_front();
      for (const TaskAccess& access : view().graph.task(task).accesses)
        ++own.uses[static_cast<std::size_t>(access.array)];
      commit(task, device);
      return task;
    }
    if (own.upcoming.empty() &&
        own.seconds_left < 2 * view().machine.copy_seconds(host, device, view().memory.capacity(device)))
      take_upcoming(device);
    if (own.num_left == 0) begin_package(device);
    if (own.next.empty()) choose(device);
    if (own.next.empty() && own.num_assigned < few_assigned() && take_over(device)) choose(device);
    if (own.next.empty()) return none;
    const TaskId task = own.next.front();
    if (own.num_assigned > 0 && own.committed + new_bytes(task, device) > view().memory.capacity(device))
      return none;
    own.next.pop_front();
    if (!is_moved_[static_cast<std::size_t>(task)]) leave_package(task, device);
    commit(task, device);
    return task;
  }
  // Finished outputs go home while the link has nothing else to do, so that a package can leave at once.
  ArrayId store(DeviceId device) override {
    std::deque<ArrayId>& arrays = state(device).finished;
    while (!arrays.empty()) {
      const ArrayId array = arrays.front();
      arrays.pop_front();
      if (view().memory.is_dirty(array) && view().memory.is_present(array, device)) return array;
    }
    return none;
  }
  // Outputs that are not finished leave only where all the rest is not enough, with what is just being
  // copied; arrays of tasks that were given only where these cannot run otherwise.
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    index_t bytes = 0, soon = 0;
    for (int kind = 0; kind < (request.is_prefetch ? 2 : num_kinds); ++kind) {
      if (kind == outputs_kind && bytes + soon >= request.bytes) return;
      for (const auto& [last_use, array] : order_of_victims_.arrays(request.device, kind)) {
        if (bytes >= request.bytes) return;
        if (view().memory.is_evictable(array, request.device)) {
          chosen.push_back(array);
          bytes += bytes_of(array);
        } else {
          soon += bytes_of(array);
        }
      }
    }
    if (bytes < request.bytes && request.is_prefetch) chosen.clear();
  }
  bool sends_on() const override { return true; }
  // Beside what this package still needs: its own outputs must not leave for those of the next one.
  ArrayId prefetch(DeviceId device) override {
    Device& own = state(device);
    while (!own.prefetches.empty()) {
      const ArrayId array = own.prefetches.front();
      if (!view().memory.holds(array, device)) {
        const index_t most = view().memory.capacity(device) / 20 * 19;
        if (own.committed + own.prefetched + bytes_of(array) > most) return none;
        own.prefetched += bytes_of(array);
        own.prefetches.pop_front();
        return array;
      }
      own.prefetches.pop_front();
    }
    return none;
  }

 private:
  // By what the arrays that a device lacks are chosen.
  struct Rank {
    double earliest;   // depth of the first task that lacks the array
    bool lacks_two;    // that task lacks another one as well
    bool is_far;       // no device has it that is nearer than the host
    long fewer_tasks;  // minus the tasks that lack only the array, or it and another one
    long free_tasks;   // of these, that lack only the array
    int number;        // in the structural order
    ArrayId array;
    auto operator<=>(const Rank&) const = default;
  };
  struct Device {
    std::deque<TaskId> next;         // chosen, not yet given
    int num_assigned = 0;            // given, not done
    int num_left = 0;                // tasks of the package that were not given
    index_t committed = 0;           // bytes of outputs of the package and of arrays of tasks that were given
    double seconds_left = 0;         // of these
    std::vector<TaskId> upcoming;    // tasks of the next package
    std::deque<ArrayId> prefetches;  // outputs of the next package
    index_t prefetched = 0;          // bytes of those that were prefetched
    std::deque<ArrayId> finished;    // arrays that no task writes any more, not yet stored
    std::vector<int> upcoming_uses;  // of arrays: tasks of the next package
    std::vector<bool> is_upcoming;   // of arrays: outputs of the next package
    std::vector<int> uses;           // of arrays: tasks of the package that are not done
    std::vector<int> output_tasks;   // of arrays: tasks of the package that belong to it and are not done
    std::vector<int> assigned_uses;  // of arrays
    std::vector<bool> holds;         // of arrays
    std::vector<bool> is_ranked;
    std::vector<Rank> ranks;  // of arrays
    std::set<Rank> ranking;
  };

  void begin() override {
    outputs_ = outputs_of(view().graph);
    owners_.assign(outputs_.size(), none);
    missing_.start(view());
    order_of_victims_.start(view().graph.num_arrays(), view().machine.num_devices(), num_kinds);
    const std::size_t arrays = static_cast<std::size_t>(view().graph.num_arrays());
    is_ready_.resize(static_cast<std::size_t>(view().graph.num_tasks()));
    is_given_.resize(is_ready_.size());
    given_to_.assign(is_ready_.size(), none);
    is_moved_.resize(is_ready_.size());
    uses_left_.resize(arrays);
    writes_left_.resize(arrays);
    for (ArrayId array = 0; array < view().graph.num_arrays(); ++array)
      uses_left_[static_cast<std::size_t>(array)] = static_cast<int>(view().graph.users(array).size());
    for (TaskId task = 0; task < view().graph.num_tasks(); ++task)
      for (const TaskAccess& access : view().graph.task(task).accesses)
        writes_left_[static_cast<std::size_t>(access.array)] += access.writes() ? 1 : 0;
    devices_.resize(num_devices());
    for (Device& device : devices_) {
      device.upcoming_uses.resize(arrays);
      device.is_upcoming.resize(arrays);
      device.uses.resize(arrays);
      device.output_tasks.resize(arrays);
      device.assigned_uses.resize(arrays);
      device.holds.resize(arrays);
      device.is_ranked.resize(arrays);
      device.ranks.resize(arrays);
    }
  }
  // Where tasks may be taken over fewer are given ahead: those that were given stay.
  int default_tasks_ahead() const override {
    return take_over_ == TakeOver::Never ? 48 : take_over_ == TakeOver::Late ? 24 : 4;
  }
  // A device that has fewer will soon have nothing to run, and takes over.
  int few_assigned() const {
    return take_over_ == TakeOver::Never ? 0 : take_over_ == TakeOver::Late ? 1 : 2;
  }
  Device& state(DeviceId device) { return devices_[static_cast<std::size_t>(device)]; }
  index_t bytes_of(ArrayId array) const { return view().graph.array(array).bytes; }
  // Of tasks of a package those first that come after fewest: steps of the inner loop one after the other.
  long number_of(TaskId task) const { return order_.of_tasks[static_cast<std::size_t>(task)]; }
  PriorityEntry entry_of(TaskId task) const {
    return {-order_.depths[static_cast<std::size_t>(task)], number_of(task), task};
  }

  void update(ArrayId array, DeviceId device) {
    const std::size_t k = static_cast<std::size_t>(array);
    missing_.set_there(array, device, state(device).holds[k] || state(device).assigned_uses[k] > 0);
  }
  // In which order arrays leave: needed by nobody, by no package under way, by the next one or by other
  // devices, by this package, outputs, what tasks use that were given.
  static constexpr int outputs_kind = 4, num_kinds = 6;
  int kind_of(ArrayId array, DeviceId device) const {
    const Device& own = devices_[static_cast<std::size_t>(device)];
    const std::size_t k = static_cast<std::size_t>(array);
    if (own.assigned_uses[k] > 0) return 5;
    if (own.output_tasks[k] > 0 || own.is_upcoming[k]) return outputs_kind;
    if (own.uses[k] > 0) return 3;
    if (own.upcoming_uses[k] > 0 || is_wanted_elsewhere(own, k)) return 2;
    return uses_left_[k] > 0 ? 1 : 0;
  }
  void set_kind(ArrayId array, DeviceId device) {
    if (order_of_victims_.has(array, device))
      order_of_victims_.set_kind(array, device, kind_of(array, device));
  }
  void set_kinds(ArrayId array) {
    for (DeviceId device = 0; device < view().machine.num_devices(); ++device) set_kind(array, device);
  }
  // The package of another device reads the array, and has not got it.
  bool is_wanted_elsewhere(const Device& own, std::size_t k) const {
    return std::any_of(devices_.begin(), devices_.end(), [&](const Device& other) {
      return &other != &own && other.uses[k] > 0 && !other.holds[k];
    });
  }
  // A device has the array, and a link to this one that is not the host's.
  bool is_near(std::size_t k, DeviceId device) const {
    const Machine& machine = view().machine;
    for (DeviceId other = 0; other < machine.num_devices(); ++other) {
      const int link = other == device ? none : machine.link_between(other, device);
      if (link != none && link != machine.link_between(host, device) &&
          devices_[static_cast<std::size_t>(other)].holds[k])
        return true;
    }
    return false;
  }
  void set_held(ArrayId array, DeviceId device, bool is_held) {
    const std::size_t k = static_cast<std::size_t>(array);
    state(device).holds[k] = is_held;
    update(array, device);
    for (DeviceId other = 0; other < view().machine.num_devices(); ++other) {
      if (other == device) continue;
      if (state(other).uses[k] > 0) missing_.mark(array, other);  // is_near
      set_kind(array, other);
    }
  }
  index_t new_bytes(TaskId task, DeviceId device) {
    index_t bytes = 0;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      const std::size_t k = static_cast<std::size_t>(access.array);
      if (state(device).assigned_uses[k] == 0 && state(device).output_tasks[k] == 0)
        bytes += bytes_of(access.array);
    }
    return bytes;
  }
  void commit(TaskId task, DeviceId device) {
    Device& own = state(device);
    given_to_[static_cast<std::size_t>(task)] = device;
    own.committed += new_bytes(task, device);
    ++own.num_assigned;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      if (++own.assigned_uses[static_cast<std::size_t>(access.array)] == 1) set_kind(access.array, device);
      update(access.array, device);
    }
  }

  // The next package is known while the last tasks of this one run, so that its outputs come as those of this
  // one go.
  void take_upcoming(DeviceId device) {
    Device& own = state(device);
    if (next_package_ == packages_.size()) return;
    own.upcoming = std::move(packages_[next_package_++].tasks);
    for (const TaskId task : own.upcoming) {
      for (const TaskAccess& access : view().graph.task(task).accesses)
        if (++own.upcoming_uses[static_cast<std::size_t>(access.array)] == 1) set_kind(access.array, device);
      const ArrayId output = outputs_[static_cast<std::size_t>(task)];
      if (own.is_upcoming[static_cast<std::size_t>(output)]) continue;
      own.is_upcoming[static_cast<std::size_t>(output)] = true;
      own.prefetches.push_back(output);
      set_kind(output, device);
    }
  }
  void begin_package(DeviceId device) {
    Device& own = state(device);
    own.num_left += static_cast<int>(own.upcoming.size());
    if (own.num_left == static_cast<int>(own.upcoming.size()))
      own.seconds_left = 0;  // without rounding errors
    own.prefetches.clear();
    own.prefetched = 0;
    for (const TaskId task : own.upcoming) {
      own.seconds_left += view().machine.run_seconds(view().graph, task, device);
      for (const TaskAccess& access : view().graph.task(task).accesses) {
        const bool is_first = ++own.uses[static_cast<std::size_t>(access.array)] == 1;
        if (--own.upcoming_uses[static_cast<std::size_t>(access.array)] == 0 || is_first)
          changed_.push_back(access.array);
      }
      const std::size_t output = static_cast<std::size_t>(outputs_[static_cast<std::size_t>(task)]);
      own.is_upcoming[output] = false;
      if (own.output_tasks[output]++ == 0 && own.assigned_uses[output] == 0)
        own.committed += bytes_of(outputs_[static_cast<std::size_t>(task)]);
      changed_.push_back(outputs_[static_cast<std::size_t>(task)]);
      owners_[static_cast<std::size_t>(task)] = device;
      if (is_ready_[static_cast<std::size_t>(task)]) missing_.add(entry_of(task), device);
    }
    own.upcoming.clear();
    for (const ArrayId array : changed_) set_kinds(array);
    changed_.clear();
  }

  // A device that has nothing to run takes an output over, with all its tasks that were not given yet: of
  // another device's ready ones that comes last there. False: none has more work than it would give away.
  bool take_over(DeviceId device) {
    DeviceId from = none;
    for (DeviceId other = 0; other < view().machine.num_devices(); ++other)
      if (other != device && !missing_.tasks(other).empty() &&
          (from == none || state(other).seconds_left > state(from).seconds_left))
        from = other;
    if (from == none) return false;
    const ArrayId output = outputs_[static_cast<std::size_t>(std::prev(missing_.tasks(from).end())->task)];
    moved_.clear();
    double seconds = 0;
    for (const TaskId task : view().graph.users(output)) {
      const std::size_t k = static_cast<std::size_t>(task);
      if (outputs_[k] != output || owners_[k] != from || is_given_[k]) continue;
      moved_.push_back(task);
      seconds += view().machine.run_seconds(view().graph, task, from);
    }
    if (seconds > state(from).seconds_left / 2) return false;
    for (const TaskId task : moved_) move(task, from, device);
    return true;
  }
  void leave_package(TaskId task, DeviceId device) {
    --state(device).num_left;
    state(device).seconds_left -= view().machine.run_seconds(view().graph, task, device);
  }
  void move(TaskId task, DeviceId from, DeviceId to) {
    const std::size_t k = static_cast<std::size_t>(task), output = static_cast<std::size_t>(outputs_[k]);
    if (is_ready_[k]) missing_.remove(task);
    Device &before = state(from), &after = state(to);
    // It belongs to the package of no device any more: what is taken over may wait for a package that the
    // device has yet to begin.
    if (!is_moved_[k]) leave_package(task, from);
    is_moved_[k] = true;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      --before.uses[static_cast<std::size_t>(access.array)];
      ++after.uses[static_cast<std::size_t>(access.array)];
    }
    if (--before.output_tasks[output] == 0 && before.assigned_uses[output] == 0)
      before.committed -= bytes_of(outputs_[k]);
    if (after.output_tasks[output]++ == 0 && after.assigned_uses[output] == 0)
      after.committed += bytes_of(outputs_[k]);
    for (const TaskAccess& access : view().graph.task(task).accesses) set_kinds(access.array);
    owners_[k] = to;
    if (is_ready_[k]) missing_.add(entry_of(task), to);
  }

  // The earliest task that lacks nothing, else the tasks of the array that frees the earliest ones, else one
  // that lacks two arrays.
  void choose(DeviceId device) {
    if (!missing_.complete(device).empty()) {
      give(missing_.complete(device).begin()->task, device);
      return;
    }
    rank(device);
    const Device& own = state(device);
    if (own.ranking.empty()) {
      if (!missing_.tasks(device).empty()) give(missing_.tasks(device).begin()->task, device);
      return;
    }
    const MissingArrays::Counts& counts = missing_.counts(own.ranking.begin()->array, device);
    if (own.ranking.begin()->lacks_two) {
      give(counts.one_more.begin()->task, device);
      return;
    }
    while (!counts.free.empty()) give(counts.free.begin()->task, device);
  }
  void give(TaskId task, DeviceId device) {
    is_given_[static_cast<std::size_t>(task)] = true;
    missing_.remove(task);
    state(device).next.push_back(task);
  }

  void rank(DeviceId device) {
    Device& own = state(device);
    for (const ArrayId array : missing_.take_changed(device)) {
      const std::size_t k = static_cast<std::size_t>(array);
      if (own.is_ranked[k]) own.ranking.erase(own.ranks[k]);
      const MissingArrays::Counts& counts = missing_.counts(array, device);
      own.is_ranked[k] =
          !missing_.is_there(array, device) && !(counts.free.empty() && counts.one_more.empty());
      if (!own.is_ranked[k]) continue;
      constexpr double never = std::numeric_limits<double>::max();
      const double free = counts.free.empty() ? never : -counts.free.begin()->priority;
      const double one_more = counts.one_more.empty() ? never : -counts.one_more.begin()->priority;
      const long lacking_one = static_cast<long>(counts.free.size()),
                 lacking_two = static_cast<long>(counts.one_more.size());
      own.ranks[k] = {std::min(free, one_more),
                      free > one_more,
                      !is_near(k, device),
                      -lacking_one - lacking_two,
                      lacking_one,
                      order_.of_arrays[k],
                      array};
      own.ranking.insert(own.ranks[k]);
    }
  }

  VictimOrder order_of_victims_;
  std::vector<ArrayId> changed_;  // of begin_package
  std::vector<OutputPackage> packages_;
  std::size_t next_package_ = 0;
  std::vector<ArrayId> outputs_;  // of tasks: the arrays to which they belong
  std::vector<DeviceId> owners_;  // of tasks: whose package has begun
  MissingArrays missing_;
  std::vector<Device> devices_;
  StructuralOrder order_;
  TakeOver take_over_;
  std::vector<bool> left_out_;      // of devices: they run only what no other one can
  std::vector<DeviceId> given_to_;  // of tasks
  std::deque<TaskId> free_;         // ready, and writes nothing
  std::vector<bool> is_ready_;      // of tasks
  std::vector<bool> is_given_;      // of tasks: chosen for a device, or given to it
  std::vector<bool> is_moved_;      // of tasks: taken over by another device than that of their package
  std::vector<TaskId> moved_;       // of take_over
  std::vector<int> uses_left_;      // of arrays: tasks that are not done
  std::vector<int> writes_left_;    // of arrays: those of them that write it
};

}  // namespace

std::unique_ptr<TaskScheduler> make_packages(const SchedulerOptions& options, StructuralOrder order,
                                             std::vector<OutputPackage> packages, TakeOver take_over,
                                             std::vector<bool> left_out) {
  return std::make_unique<DataAware>(options, std::move(order), std::move(packages), take_over,
                                     std::move(left_out));
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
