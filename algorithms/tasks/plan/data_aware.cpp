// data-aware: our own. A device takes a package of outputs (output_packages.hpp) that stay in its memory
// until they are finished, and streams what their tasks read: of the ready tasks of its package always those
// first that lack nothing, then those of the array that frees the earliest. It knows arrays, accesses, costs
// and the graph, and nothing else.
//
// Tasks are given ahead as far as their arrays fit the memory beside the package. Before its last tasks run
// the next package is known, whose outputs are prefetched as those of this one go. Victims are first what
// nobody needs, then what no package of the device needs, then streamed arrays; outputs last.
#include <deque>
#include <limits>
#include <tuple>

#include <strata/algorithms/tasks/plan/missing_arrays.hpp>
#include <strata/algorithms/tasks/plan/output_packages.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class DataAware final : public LruScheduler {
 public:
  using LruScheduler::LruScheduler;

  void ready(TaskId task, DeviceId) override {
    const std::size_t k = static_cast<std::size_t>(task);
    is_ready_[k] = true;
    if (is_open_[k]) missing_.add(entry_of(task), packages_.device_of(task));
    else if (packages_.output_of(task) == none) free_.push_back(task);
    else if (packages_.device_of(task) == none) packages_.add_ready(entry(task));
  }
  void loaded(ArrayId array, DeviceId device) override {
    LruScheduler::loaded(array, device);
    state(device).holds[static_cast<std::size_t>(array)] = true;
    update(array, device);
  }
  void evicted(ArrayId array, DeviceId device) override {
    LruScheduler::evicted(array, device);
    state(device).holds[static_cast<std::size_t>(array)] = false;
    update(array, device);
  }
  void done(TaskId task, DeviceId device) override {
    LruScheduler::done(task, device);
    packages_.done(task);
    Device& own = state(device);
    --own.num_assigned;
    --num_assigned_;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      const std::size_t k = static_cast<std::size_t>(access.array);
      if (--own.assigned_uses[k] == 0 && own.output_tasks[k] == 0) own.committed -= bytes_of(access.array);
      --own.uses[k];
      --uses_left_[k];
      update(access.array, device);
    }
    const ArrayId output = packages_.output_of(task);
    if (output == none) return;
    const std::size_t k = static_cast<std::size_t>(output);
    if (--own.output_tasks[k] == 0 && own.assigned_uses[k] == 0) own.committed -= bytes_of(output);
  }
  TaskId assign(DeviceId device) override {
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
        own.seconds_left < 2 * view().machine.copy_seconds(host, device, room(device)))
      take_upcoming(device);
    if (own.num_left == 0) begin_package(device);
    if (own.next.empty()) choose(device);
    // Where packages wait for each other's next ones, no device has anything: each begins the next one as
    // well.
    while (own.next.empty() && num_assigned_ == 0) {
      if (own.upcoming.empty()) take_upcoming(device);
      if (own.upcoming.empty()) break;
      begin_package(device);
      choose(device);
    }
    if (own.next.empty()) return none;
    const TaskId task = own.next.front();
    if (own.num_assigned > 0 && own.committed + new_bytes(task, device) > view().memory.capacity(device))
      return none;
    own.next.pop_front();
    --own.num_left;
    own.seconds_left -= view().machine.run_seconds(view().graph, task, device);
    commit(task, device);
    return task;
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    const Device& own = state(request.device);
    index_t bytes = 0;
    const int kinds = request.is_prefetch ? 2 : 5;
    for (int kind = 0; kind < kinds; ++kind)
      for (const ArrayId array : lru().arrays(request.device)) {
        if (bytes >= request.bytes) return;
        if (kind_of(own, array) != kind || !view().memory.is_evictable(array, request.device)) continue;
        chosen.push_back(array);
        bytes += bytes_of(array);
      }
    if (bytes < request.bytes && request.is_prefetch) chosen.clear();
  }
  ArrayId prefetch(DeviceId device) override {
    std::deque<ArrayId>& arrays = state(device).prefetches;
    while (!arrays.empty()) {
      const ArrayId array = arrays.front();
      arrays.pop_front();
      if (!view().memory.holds(array, device)) return array;
    }
    return none;
  }

 private:
  // How early the first task is that lacks the array; whether it lacks another one; then how many lack only
  // the array, how many another one; the array.
  using Rank = std::tuple<double, bool, long, long, ArrayId>;
  struct Device {
    std::deque<TaskId> next;         // chosen, not yet given
    int num_assigned = 0;            // given, not done
    int num_left = 0;                // tasks of the package that were not given
    index_t committed = 0;           // bytes of outputs of the package and of arrays of tasks that were given
    double seconds_left = 0;         // of these
    std::vector<TaskId> upcoming;    // tasks of the next package
    std::deque<ArrayId> prefetches;  // outputs of the next package
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
    packages_.start(view());
    missing_.start(view());
    depths_.resize(static_cast<std::size_t>(view().graph.num_tasks()));
    for (const TaskId task : view().graph.order())
      for (const TaskId next : view().graph.successors(task)) {
        double& depth = depths_[static_cast<std::size_t>(next)];
        depth = std::max(depth, depths_[static_cast<std::size_t>(task)] + 1);
      }
    const std::size_t arrays = static_cast<std::size_t>(view().graph.num_arrays());
    is_ready_.resize(static_cast<std::size_t>(view().graph.num_tasks()));
    is_open_ = is_ready_;
    uses_left_.resize(arrays);
    for (ArrayId array = 0; array < view().graph.num_arrays(); ++array)
      uses_left_[static_cast<std::size_t>(array)] = static_cast<int>(view().graph.users(array).size());
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
  int default_window() const override { return 48; }
  Device& state(DeviceId device) { return devices_[static_cast<std::size_t>(device)]; }
  index_t bytes_of(ArrayId array) const { return view().graph.array(array).bytes; }
  // Of tasks of a package those first that come after fewest: steps of the inner loop one after the other.
  PriorityEntry entry_of(TaskId task) const { return {-depths_[static_cast<std::size_t>(task)], task, task}; }

  void update(ArrayId array, DeviceId device) {
    const std::size_t k = static_cast<std::size_t>(array);
    missing_.set_there(array, device, state(device).holds[k] || state(device).assigned_uses[k] > 0);
  }
  // In which order arrays leave: needed by nobody, by no package of the device, by the next one, by this one,
  // outputs.
  int kind_of(const Device& own, ArrayId array) const {
    const std::size_t k = static_cast<std::size_t>(array);
    if (own.output_tasks[k] > 0 || own.is_upcoming[k]) return 4;
    if (own.uses[k] > 0) return 3;
    if (own.upcoming_uses[k] > 0) return 2;
    return uses_left_[k] > 0 ? 1 : 0;
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
    own.committed += new_bytes(task, device);
    ++own.num_assigned;
    ++num_assigned_;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      ++own.assigned_uses[static_cast<std::size_t>(access.array)];
      update(access.array, device);
    }
  }

  // For outputs; the rest is left to what is streamed. At the end, devices share what is left.
  index_t room(DeviceId device) const {
    const index_t count = view().machine.num_devices();
    const index_t most =
        static_cast<index_t>(outputs_part * static_cast<double>(view().memory.capacity(device)));
    return count == 1 ? most : std::min(most, packages_.bytes_left() / count);
  }
  // The next package is known while the last tasks of this one run, so that its outputs come as those of this
  // one go.
  void take_upcoming(DeviceId device) {
    Device& own = state(device);
    own.upcoming = packages_.take(device, room(device));
    for (const TaskId task : own.upcoming) {
      for (const TaskAccess& access : view().graph.task(task).accesses)
        ++own.upcoming_uses[static_cast<std::size_t>(access.array)];
      const ArrayId output = packages_.output_of(task);
      if (own.is_upcoming[static_cast<std::size_t>(output)]) continue;
      own.is_upcoming[static_cast<std::size_t>(output)] = true;
      own.prefetches.push_back(output);
    }
  }
  void begin_package(DeviceId device) {
    Device& own = state(device);
    own.num_left += static_cast<int>(own.upcoming.size());
    if (own.num_left == static_cast<int>(own.upcoming.size()))
      own.seconds_left = 0;  // without rounding errors
    own.prefetches.clear();
    for (const TaskId task : own.upcoming) {
      own.seconds_left += view().machine.run_seconds(view().graph, task, device);
      for (const TaskAccess& access : view().graph.task(task).accesses) {
        ++own.uses[static_cast<std::size_t>(access.array)];
        --own.upcoming_uses[static_cast<std::size_t>(access.array)];
      }
      const std::size_t output = static_cast<std::size_t>(packages_.output_of(task));
      own.is_upcoming[output] = false;
      if (own.output_tasks[output]++ == 0 && own.assigned_uses[output] == 0)
        own.committed += bytes_of(packages_.output_of(task));
      is_open_[static_cast<std::size_t>(task)] = true;
      if (is_ready_[static_cast<std::size_t>(task)]) missing_.add(entry_of(task), device);
    }
    own.upcoming.clear();
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
    const MissingArrays::Counts& counts = missing_.counts(std::get<ArrayId>(*own.ranking.begin()), device);
    if (std::get<bool>(*own.ranking.begin())) {
      give(counts.one_more.begin()->task, device);
      return;
    }
    const std::vector<PriorityEntry> free(counts.free.begin(), counts.free.end());
    for (const PriorityEntry& task : free) give(task.task, device);
  }
  void give(TaskId task, DeviceId device) {
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
      own.ranks[k] = {std::min(free, one_more), free > one_more, -lacking_one - lacking_two, lacking_one,
                      array};
      own.ranking.insert(own.ranks[k]);
    }
  }

  static constexpr double outputs_part = 0.8;  // of the memory; streamed arrays and copies ahead need a fifth
  OutputPackages packages_;
  MissingArrays missing_;
  std::vector<Device> devices_;
  std::vector<double> depths_;  // of tasks: how many are before it on the longest path
  std::deque<TaskId> free_;     // ready, and writes nothing
  int num_assigned_ = 0;        // on all devices
  std::vector<bool> is_ready_;  // of tasks
  std::vector<bool> is_open_;   // of tasks: their package has begun
  std::vector<int> uses_left_;  // of arrays: tasks that are not done
};

}  // namespace

std::unique_ptr<TaskScheduler> make_data_aware(const SchedulerOptions& options) {
  return std::make_unique<DataAware>(options);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
