// darts: data before tasks. When a device has nothing planned, the array is chosen whose transfer takes least
// for the work that it frees (tasks that lack nothing else), and all these tasks are planned; where no array
// frees a task, one that lacks two; else the task of the highest priority. Planned tasks go on to a short
// buffer, whose arrays are prefetched, and which the device empties by the Ready rule.
//
// As in the published code, an array is only chosen while it is listed: from when a task that lacks it is
// released, or its eviction was chosen here, until it is chosen. Arrays that leave without that (darts-lru)
// are not listed again before another task that reads them is released.
//
// As published, two errors of the code are kept, since the printed figures contain them: the time of a
// transfer is asked for the memory before the device's own (for the first device the host's, so that it is
// 0), and an eviction takes back one planned task only. The corrected one has neither, and gives a task that
// is free at once to the device with the fewest, where the published code takes turns.
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <tuple>
#include <utility>

#include <strata/algorithms/tasks/plan/missing_arrays.hpp>
#include <strata/algorithms/tasks/plan/prefetching_scheduler.hpp>
#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

class Darts final : public PrefetchingScheduler {
 public:
  Darts(const SchedulerOptions& options, DartsKind kind, std::vector<bool> left_out)
      : PrefetchingScheduler(options), kind_(kind), left_out_(std::move(left_out)) {}

  void ready(TaskId task, DeviceId) override {
    if (const DeviceId device = device_without_loads(task); device != none) {
      plan_free(task, device);
      return;
    }
    missing_.add(entry(task));
    for (const TaskAccess& access : view().graph.task(task).accesses)
      if (access.reads()) list_where_missing(access.array);
  }
  void loaded(ArrayId array, DeviceId device) override {
    PrefetchingScheduler::loaded(array, device);
    set_there(array, device, true);
  }
  void evicted(ArrayId array, DeviceId device) override {
    PrefetchingScheduler::evicted(array, device);
    set_there(array, device, false);
    if (!std::exchange(state(device).arrays[at(array)].is_victim, false)) return;
    take_back(array, device);
    if (!missing_.readers(array).empty()) list_where_missing(array);
  }
  void done(TaskId task, DeviceId device) override {
    PrefetchingScheduler::done(task, device);
    Device& own = state(pulled_by_[static_cast<std::size_t>(task)]);
    own.pulled.erase(std::find(own.pulled.begin(), own.pulled.end(), task));
    for (const TaskAccess& access : view().graph.task(task).accesses)
      --own.arrays[at(access.array)].pulled_uses;
  }
  int tasks_ahead(DeviceId) const override { return pipeline; }
  ArrayId prefetch(DeviceId device) override {
    fill_buffer(device);
    return PrefetchingScheduler::prefetch(device);
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    Device& own = state(request.device);
    if (kind_ == DartsKind::Lru) {
      PrefetchingScheduler::victims(request, chosen);
    } else {
      choose_victims(request, chosen);
      for (const ArrayId array : chosen) own.arrays[at(array)].is_victim = true;
    }
  }

 private:
  static constexpr int pipeline = 4;  // of the paper's runs: tasks whose arrays cannot leave
  static constexpr int buffered = 10;

  // Seconds of the transfer for each of work that it frees, then more free tasks, a higher priority, more
  // tasks that lack one more array, more work left; then the one that is listed for longest.
  using Rank = std::tuple<double, long, double, long, double, long, ArrayId>;
  struct ArrayState {                       // on a device
    int planned_uses = 0, pulled_uses = 0;  // by tasks that are planned; that are pulled
    bool is_victim = false;                 // is about to leave as this scheduler wants it
    bool is_ranked = false;
    long listed = 0;  // since when; 0: it is not
    Rank rank;
  };
  struct Device {
    std::deque<TaskId> planned;
    std::deque<TaskId> buffer;
    TaskId refused = none;       // comes into the buffer next
    std::vector<TaskId> pulled;  // refused, in the buffer, or given and not done
    bool has_begun = false;
    std::vector<ArrayState> arrays;
    std::set<Rank> ranking;
  };

  void begin() override {
    missing_.start(view());
    devices_.resize(num_devices());
    for (Device& device : devices_) {
      device.arrays.resize(static_cast<std::size_t>(view().graph.num_arrays()));
    }
    left_out_.resize(num_devices());
    pulled_by_.assign(static_cast<std::size_t>(view().graph.num_tasks()), none);
  }
  int default_tasks_ahead() const override { return buffered; }
  static std::size_t at(ArrayId array) { return static_cast<std::size_t>(array); }
  Device& state(DeviceId device) { return devices_[static_cast<std::size_t>(device)]; }

  // There, or asked for.
  void set_there(ArrayId array, DeviceId device, bool is_there) {
    missing_.set_there(array, device, is_there);
    // What the others would pay for it.
    for (DeviceId other = 0; other < view().machine.num_devices(); ++other) missing_.mark(array, other);
  }
  void set_inputs_there(TaskId task, DeviceId device) {
    for (const TaskAccess& access : view().graph.task(task).accesses)
      if (access.reads()) set_there(access.array, device, true);
  }
  void list_where_missing(ArrayId array) {
    for (DeviceId device = 0; device < view().machine.num_devices(); ++device) {
      if (missing_.is_there(array, device)) continue;
      ArrayState& own = state(device).arrays[at(array)];
      if (own.listed == 0) own.listed = ++num_listed_;
      missing_.mark(array, device);
    }
  }
  void unlist(ArrayId array, DeviceId device) {
    state(device).arrays[at(array)].listed = 0;
    missing_.mark(array, device);
  }
  // The first array that the task reads and that is listed.
  void unlist_one_of(TaskId task, DeviceId device) {
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      if (!access.reads() || state(device).arrays[at(access.array)].listed == 0) continue;
      unlist(access.array, device);
      if (kind_ != DartsKind::Corrected) return;
    }
  }

  TaskId next(DeviceId device) override {
    fill_buffer(device);
    Device& own = state(device);
    if (own.buffer.empty()) return none;
    const TaskId task =
        take_by_ready_rule(own.buffer, device, [&](TaskId candidate) { return priority(candidate); });
    set_inputs_there(task, device);  // they may have left meanwhile
    return task;
  }
  // As many as it has room for, and one more that the real buffer refuses: it is chosen, and kept until there
  // is room, but nothing is prefetched for it.
  void fill_buffer(DeviceId device) {
    Device& own = state(device);
    while (!left_out_[static_cast<std::size_t>(device)]) {
      if (own.refused == none) own.refused = pull(device);
      if (own.refused == none ||
          static_cast<int>(own.buffer.size()) >= PrefetchingScheduler::tasks_ahead(device))
        return;
      const TaskId task = std::exchange(own.refused, none);
      own.buffer.push_back(task);
      request(task, device, priority(task));
      set_inputs_there(task, device);
    }
  }
  // The next planned task.
  TaskId pull(DeviceId device) {
    Device& own = state(device);
    if (own.planned.empty()) fill(device);
    if (own.planned.empty()) return none;
    const TaskId task = own.planned.front();
    own.planned.pop_front();
    own.pulled.push_back(task);
    pulled_by_[static_cast<std::size_t>(task)] = device;
    for (const TaskAccess& access : view().graph.task(task).accesses) {
      ArrayState& array = own.arrays[at(access.array)];
      --array.planned_uses;
      ++array.pulled_uses;
    }
    return task;
  }
  void fill(DeviceId device) {
    if (missing_.tasks().empty()) return;
    Device& own = state(device);
    const auto plan_first = [&] {
      const TaskId task = missing_.tasks().begin()->task;
      unlist_one_of(task, device);
      plan(task, device);
    };
    if (!std::exchange(own.has_begun, true)) {
      plan_first();
      return;
    }
    rank(device);
    if (own.ranking.empty()) {
      plan_first();
      return;
    }
    const ArrayId array = std::get<ArrayId>(*own.ranking.begin());
    const Choice choice = choice_of(array, device);
    if (!choice.free.empty()) {
      unlist(array, device);
      for (const TaskId task : choice.free) plan(task, device);
    } else if (choice.one_more != none) {
      unlist_one_of(choice.one_more, device);
      plan(choice.one_more, device);
    } else {
      plan_first();
    }
  }
  void plan(TaskId task, DeviceId device) {
    missing_.remove(task);
    state(device).planned.push_back(task);
    count_planned(task, device, 1);
  }
  void count_planned(TaskId task, DeviceId device, int change) {
    for (const TaskAccess& access : view().graph.task(task).accesses)
      state(device).arrays[at(access.array)].planned_uses += change;
  }

  // The tasks that an array frees, the newest first, and of those that lack one more the highest priority.
  struct Choice {
    std::vector<TaskId> free;
    TaskId one_more = none;
  };
  Choice choice_of(ArrayId array, DeviceId device) const {
    Choice choice;
    const int lacks_itself = missing_.is_there(array, device) ? 0 : 1;
    for (const TaskId task : missing_.readers(array)) {
      const int lacks = missing_.missing(task, device) - lacks_itself;
      if (lacks == 0) choice.free.push_back(task);
      if (lacks == 1 && (choice.one_more == none || priority(task) >= priority(choice.one_more)))
        choice.one_more = task;
    }
    std::reverse(choice.free.begin(), choice.free.end());
    return choice;
  }
  // Brings the ranking up to date.
  void rank(DeviceId device) {
    Device& own = state(device);
    for (const ArrayId array : missing_.take_changed(device)) {
      ArrayState& one = own.arrays[at(array)];
      if (one.is_ranked) own.ranking.erase(one.rank);
      one.is_ranked = one.listed > 0 && !missing_.readers(array).empty();
      if (!one.is_ranked) continue;
      one.rank = rank_of(array, device);
      own.ranking.insert(one.rank);
    }
  }
  Rank rank_of(ArrayId array, DeviceId device) const {
    constexpr double never = std::numeric_limits<double>::max();
    const int lacks_itself = missing_.is_there(array, device) ? 0 : 1;
    long num_free = 0, num_one_more = 0;
    double seconds = 0, highest = -never;
    const std::vector<TaskId>& readers = missing_.readers(array);
    for (auto task = readers.rbegin(); task != readers.rend(); ++task) {
      const int lacks = missing_.missing(*task, device) - lacks_itself;
      if (lacks > 1) continue;
      if (lacks == 0) seconds += missing_.seconds(*task);
      const bool is_first_free = lacks == 0 && num_free == 0;
      ++(lacks == 0 ? num_free : num_one_more);
      // As published, tasks that lack one more count too where they come after the first one that is free.
      if (is_first_free) highest = priority(*task);
      else if (lacks == 0 || num_free == 0 || kind_ != DartsKind::Corrected)
        highest = std::max(highest, priority(*task));
    }
    return {num_free == 0 ? never : seconds_to(array, device) / seconds,
            -num_free,
            -highest,
            -num_one_more,
            -missing_.seconds_left(array),
            devices_[static_cast<std::size_t>(device)].arrays[at(array)].listed,
            array};
  }
  double seconds_to(ArrayId array, DeviceId device) const {
    if (kind_ == DartsKind::Corrected)
      return missing_.is_there(array, device) ? 0 : transfer_seconds(view(), array, device);
    const DeviceId before = device - 1;  // or the host
    const bool is_there =
        before == host ? !view().memory.is_dirty(array) : view().memory.holds(array, before);
    return is_there || before == host ? 0 : transfer_seconds(view(), array, before);
  }

  // A device that can run a task as it is, with what is planned; none where all would have to load.
  DeviceId device_without_loads(TaskId task) {
    const DeviceId count = view().machine.num_devices();
    const DeviceId first = kind_ == DartsKind::Corrected ? 0 : next_free_++ % count;
    DeviceId best = none;
    for (DeviceId k = 0; k < count; ++k) {
      const DeviceId device = (first + k) % count;
      if (left_out_[static_cast<std::size_t>(device)]) continue;
      const std::vector<TaskAccess>& accesses = view().graph.task(task).accesses;
      if (!std::all_of(accesses.begin(), accesses.end(), [&](const TaskAccess& access) {
            return !access.reads() || missing_.is_there(access.array, device) ||
                   state(device).arrays[at(access.array)].planned_uses > 0;
          }))
        continue;
      if (best == none || (kind_ == DartsKind::Corrected && queued(device) < queued(best))) best = device;
    }
    return best;
  }
  std::size_t queued(DeviceId device) {
    const Device& own = state(device);
    return own.planned.size() + own.pulled.size();
  }
  // Before the first planned task that waits for a load.
  void plan_free(TaskId task, DeviceId device) {
    std::deque<TaskId>& planned = state(device).planned;
    auto place = planned.begin();
    while (place != planned.end() && missing_.missing(*place, device) == 0) ++place;
    planned.insert(place, task);
    count_planned(task, device, 1);
  }

  // First what no task uses that is planned or in the buffer; then what fewest planned ones use and none in
  // the buffer; then what those in the buffer use last, but not for a prefetch.
  void choose_victims(const RoomRequest& request, std::vector<ArrayId>& chosen) {
    const Device& own = state(request.device);
    std::vector<std::pair<long, ArrayId>> used;
    index_t bytes = 0;
    for (const ArrayId array : lru().arrays(request.device)) {
      if (bytes >= request.bytes) return;
      if (!view().memory.is_evictable(array, request.device)) continue;
      const ArrayState& one = own.arrays[at(array)];
      if (one.planned_uses == 0 && one.pulled_uses == 0) {
        chosen.push_back(array);
        bytes += view().graph.array(array).bytes;
      } else if (one.pulled_uses == 0) {
        used.emplace_back(one.planned_uses, array);
      } else if (!request.is_prefetch) {
        used.emplace_back(std::numeric_limits<long>::max() - next_use(array, own), array);
      }
    }
    std::stable_sort(used.begin(), used.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [order, array] : used) {
      if (bytes >= request.bytes) return;
      chosen.push_back(array);
      bytes += view().graph.array(array).bytes;
    }
    if (request.is_prefetch && bytes < request.bytes) chosen.clear();
  }
  long next_use(ArrayId array, const Device& own) const {
    long use = 0;
    for (const TaskId task : own.pulled)
      for (const TaskAccess& access : view().graph.task(task).accesses) {
        ++use;
        if (access.array == array) return use;
      }
    return use;
  }
  // Planned tasks that used what is gone wait again.
  void take_back(ArrayId array, DeviceId device) {
    std::deque<TaskId>& planned = state(device).planned;
    for (auto place = planned.begin(); place != planned.end();) {
      const std::vector<TaskAccess>& accesses = view().graph.task(*place).accesses;
      if (std::none_of(accesses.begin(), accesses.end(),
                       [&](const TaskAccess& access) { return access.array == array; })) {
        ++place;
        continue;
      }
      const TaskId task = *place;
      place = planned.erase(place);
      count_planned(task, device, -1);
      missing_.add(entry(task));
      if (kind_ != DartsKind::Corrected) return;
    }
  }

  DartsKind kind_;
  std::vector<bool> left_out_;  // of devices
  MissingArrays missing_;
  std::vector<Device> devices_;
  std::vector<DeviceId> pulled_by_;  // of tasks
  DeviceId next_free_ = 0;
  long num_listed_ = 0;
};

}  // namespace

std::unique_ptr<TaskScheduler> make_darts(const SchedulerOptions& options, DartsKind kind,
                                          std::vector<bool> left_out) {
  return std::make_unique<Darts>(options, kind, std::move(left_out));
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
