// darts: data before tasks. When a device has nothing planned, the array is chosen whose transfer takes least
// for the work that it frees (tasks that lack nothing else), and all these tasks are planned; where no array
// frees a task, one that lacks two; else the task of the highest priority.
//
// As published, two errors of the code are kept, since the printed figures contain them: the time of a
// transfer is asked for the memory before the device's own (for the first device the host's, so that it is
// 0), and an eviction takes back one planned task only. The corrected one has neither, and gives a task that
// is free at once to the device with the fewest, where the published code takes turns.
#include <deque>
#include <limits>
#include <tuple>
#include <utility>

#include <strata/algorithms/tasks/plan/missing_arrays.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class Darts final : public LruScheduler {
 public:
  Darts(const SchedulerOptions& options, DartsKind kind) : LruScheduler(options), kind_(kind) {}

  void ready(TaskId task, DeviceId) override {
    if (const DeviceId device = device_without_loads(task); device != none) {
      plan_free(task, device);
      return;
    }
    missing_.add(entry(task));
  }
  void loaded(ArrayId array, DeviceId device) override {
    LruScheduler::loaded(array, device);
    set_held(array, device, true);
  }
  void evicted(ArrayId array, DeviceId device) override {
    LruScheduler::evicted(array, device);
    set_held(array, device, false);
    take_back(array, device);
  }
  void done(TaskId task, DeviceId device) override {
    LruScheduler::done(task, device);
    --state(device).num_assigned;
    count_uses(task, device, -1);
  }
  TaskId assign(DeviceId device) override {
    Device& own = state(device);
    if (own.planned.empty()) fill(device);
    if (own.planned.empty()) return none;
    const TaskId task = own.planned.front();
    own.planned.pop_front();
    ++own.num_assigned;
    return task;
  }
  // First what no planned task uses, then what fewest use.
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    if (kind_ == DartsKind::Lru) {
      LruScheduler::victims(request, chosen);
      return;
    }
    std::vector<std::pair<int, ArrayId>> used;
    index_t bytes = 0;
    for (const ArrayId array : lru().arrays(request.device)) {
      if (bytes >= request.bytes) return;
      if (!view().memory.is_evictable(array, request.device)) continue;
      if (const int uses = state(request.device).uses[static_cast<std::size_t>(array)]; uses > 0) {
        used.emplace_back(uses, array);
        continue;
      }
      chosen.push_back(array);
      bytes += view().graph.array(array).bytes;
    }
    std::stable_sort(used.begin(), used.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [uses, array] : used) {
      if (bytes >= request.bytes) return;
      chosen.push_back(array);
      bytes += view().graph.array(array).bytes;
    }
  }

 private:
  // Seconds of the transfer for each of work that it frees, then more free tasks, a higher priority, more
  // tasks that lack one more array, more work left; then the array.
  using Rank = std::tuple<double, long, double, long, double, ArrayId>;
  struct Device {
    std::deque<TaskId> planned;
    int num_assigned = 0;
    bool has_begun = false;
    std::vector<int> uses;    // of arrays: tasks that are planned, or assigned and not done
    std::vector<bool> holds;  // of arrays
    std::vector<bool> is_ranked;
    std::vector<Rank> ranks;  // of arrays
    std::set<Rank> ranking;
  };

  void begin() override {
    missing_.start(view());
    const std::size_t arrays = static_cast<std::size_t>(view().graph.num_arrays());
    devices_.resize(num_devices());
    for (Device& device : devices_) {
      device.uses.resize(arrays);
      device.holds.resize(arrays);
      device.is_ranked.resize(arrays);
      device.ranks.resize(arrays);
    }
  }
  int default_tasks_ahead() const override { return 10; }
  Device& state(DeviceId device) { return devices_[static_cast<std::size_t>(device)]; }

  // An array counts as there from when it is planned on.
  void set_held(ArrayId array, DeviceId device, bool is_held) {
    state(device).holds[static_cast<std::size_t>(array)] = is_held;
    update(array, device);
    // What the others would pay for it.
    for (DeviceId other = 0; other < view().machine.num_devices(); ++other) missing_.mark(array, other);
  }
  void update(ArrayId array, DeviceId device) {
    const Device& own = state(device);
    missing_.set_there(
        array, device,
        own.holds[static_cast<std::size_t>(array)] || own.uses[static_cast<std::size_t>(array)] > 0);
  }
  void count_uses(TaskId task, DeviceId device, int change) {
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      state(device).uses[static_cast<std::size_t>(access.array)] += change;
      update(access.array, device);
    }
  }

  void fill(DeviceId device) {
    if (missing_.tasks().empty()) return;
    Device& own = state(device);
    if (!std::exchange(own.has_begun, true)) {
      plan(missing_.tasks().begin()->task, device);
      return;
    }
    rank(device);
    const ArrayId array = own.ranking.empty() ? none : std::get<ArrayId>(*own.ranking.begin());
    if (array == none) {
      plan(missing_.tasks().begin()->task, device);
    } else if (const auto& counts = missing_.counts(array, device); !counts.free.empty()) {
      std::vector<PriorityEntry> free(counts.free.begin(), counts.free.end());
      std::sort(free.begin(), free.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
      for (const PriorityEntry& task : free) plan(task.task, device);
    } else {
      plan(counts.one_more.begin()->task, device);
    }
  }
  void plan(TaskId task, DeviceId device) {
    missing_.remove(task);
    state(device).planned.push_back(task);
    count_uses(task, device, 1);
  }

  // Brings the ranking up to date.
  void rank(DeviceId device) {
    Device& own = state(device);
    for (const ArrayId array : missing_.take_changed(device)) {
      const std::size_t k = static_cast<std::size_t>(array);
      if (own.is_ranked[k]) own.ranking.erase(own.ranks[k]);
      // With others there is nothing to plan: then the task of the highest priority is next.
      const MissingArrays::Counts& counts = missing_.counts(array, device);
      own.is_ranked[k] =
          !missing_.is_there(array, device) && !(counts.free.empty() && counts.one_more.empty());
      if (!own.is_ranked[k]) continue;
      own.ranks[k] = rank_of(array, device);
      own.ranking.insert(own.ranks[k]);
    }
  }
  Rank rank_of(ArrayId array, DeviceId device) const {
    const MissingArrays::Counts& counts = missing_.counts(array, device);
    const std::set<PriorityEntry>& tasks = counts.free.empty() ? counts.one_more : counts.free;
    return {counts.free.empty() ? std::numeric_limits<double>::max()
                                : seconds_to(array, device) / counts.free_seconds,
            -static_cast<long>(counts.free.size()),
            tasks.empty() ? 0 : -tasks.begin()->priority,
            -static_cast<long>(counts.one_more.size()),
            -missing_.seconds_left(array),
            array};
  }
  double seconds_to(ArrayId array, DeviceId device) const {
    if (kind_ == DartsKind::Corrected) return transfer_seconds(view(), array, device);
    const DeviceId before = device - 1;  // or the host
    const bool is_there =
        before == host ? !view().memory.is_dirty(array) : view().memory.holds(array, before);
    return is_there || before == host ? 0 : transfer_seconds(view(), array, before);
  }

  // A device that can run a task as it is; none where all would have to load.
  DeviceId device_without_loads(TaskId task) {
    const DeviceId count = view().machine.num_devices();
    DeviceId best = none;
    for (DeviceId k = 0; k < count; ++k) {
      const DeviceId device = kind_ == DartsKind::Corrected ? k : (next_free_ + k) % count;
      if (missing_.missing(task, device) > 0) continue;
      if (best == none || (kind_ == DartsKind::Corrected && queued(device) < queued(best))) best = device;
    }
    if (best != none) next_free_ = best + 1;
    return best;
  }
  std::size_t queued(DeviceId device) const {
    const Device& own = devices_[static_cast<std::size_t>(device)];
    return own.planned.size() + static_cast<std::size_t>(own.num_assigned);
  }
  // Before the first planned task that waits for a load.
  void plan_free(TaskId task, DeviceId device) {
    std::deque<TaskId>& planned = state(device).planned;
    auto at = planned.begin();
    while (at != planned.end() && view().memory.missing_bytes(*at, device) == 0) ++at;
    planned.insert(at, task);
    count_uses(task, device, 1);
  }
  // Planned tasks that used what is gone wait again.
  void take_back(ArrayId array, DeviceId device) {
    std::deque<TaskId>& planned = state(device).planned;
    for (auto at = planned.begin(); at != planned.end();) {
      const std::vector<TaskAccess>& accesses = view().graph.task(*at).accesses;
      if (std::none_of(accesses.begin(), accesses.end(),
                       [&](const TaskAccess& access) { return access.array == array; })) {
        ++at;
        continue;
      }
      const TaskId task = *at;
      at = planned.erase(at);
      count_uses(task, device, -1);
      missing_.add(entry(task));
      if (kind_ != DartsKind::Corrected) return;
    }
  }

  DartsKind kind_;
  MissingArrays missing_;
  std::vector<Device> devices_;
  DeviceId next_free_ = 0;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_darts(const SchedulerOptions& options, DartsKind kind) {
  return std::make_unique<Darts>(options, kind);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
