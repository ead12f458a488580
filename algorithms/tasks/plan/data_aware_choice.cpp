// data-aware: packages of outputs (data_aware.cpp) where memory is short. Where each device has room for all
// arrays nothing has to leave, and what counts is when tasks end: then by expected ends (dmda.cpp), in the
// order of priorities. Where accesses have no structure that packages could use: by the array that frees most
// tasks (darts.cpp). Devices that are far slower than others run what only they can (slow_devices.hpp).
#include <algorithm>
#include <memory>
#include <set>

#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>
#include <strata/algorithms/tasks/plan/slow_devices.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

// Devices that are not left out.
using Devices = std::vector<DeviceId>;

bool all_fit(const SchedulerView& view, const Devices& devices) {
  index_t bytes = 0;
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array) bytes += view.graph.array(array).bytes;
  return std::all_of(devices.begin(), devices.end(),
                     [&](DeviceId device) { return view.memory.capacity(device) >= bytes; });
}

// Of the tasks, shared by the devices.
double work_seconds(const SchedulerView& view, const Devices& devices) {
  double seconds = 0;
  for (TaskId task = 0; task < view.graph.num_tasks(); ++task)
    seconds += view.machine.run_seconds(view.graph, task, devices.front());
  return seconds / static_cast<double>(devices.size());
}

// Of what is loaded, and of storing each array once, over the links of the host.
double link_seconds(const SchedulerView& view, const Devices& devices, double loads) {
  double stores = 0, bytes_per_second = 0;
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array)
    stores += static_cast<double>(view.graph.array(array).bytes);
  bool is_duplex = true;
  std::set<int> links;
  for (const DeviceId device : devices) {
    const int number = view.machine.link_between(host, device);
    if (!links.insert(number).second) continue;
    const Link& link = view.machine.links()[static_cast<std::size_t>(number)];
    bytes_per_second += link.bytes_per_second;
    is_duplex = is_duplex && link.duplex;
  }
  return (is_duplex ? std::max(loads, stores) : loads + stores) / bytes_per_second;
}

// Where several devices have few tasks each, packages keep more of them at work.
constexpr int few_tasks = 400;

class DataAwareChoice final : public TaskScheduler {
 public:
  explicit DataAwareChoice(const SchedulerOptions& options) : options_(options) {}

  void start(const SchedulerView& view) override {
    std::vector<bool> left_out = slow_devices(view);
    Devices devices;
    for (DeviceId device = 0; device < view.machine.num_devices(); ++device)
      if (!left_out[static_cast<std::size_t>(device)]) devices.push_back(device);
    const int count = static_cast<int>(devices.size());
    const bool has_few_tasks = count > 1 && view.graph.num_tasks() < few_tasks * count;
    chosen_ = all_fit(view, devices) && !has_few_tasks ? make_dmda(options_, true, true)
                                                       : with_packages(view, devices, std::move(left_out));
    chosen_->start(view);
  }
  void submitted(TaskId task) override { chosen_->submitted(task); }
  void ready(TaskId task, DeviceId released_by) override { chosen_->ready(task, released_by); }
  void loaded(ArrayId array, DeviceId device) override { chosen_->loaded(array, device); }
  void evicted(ArrayId array, DeviceId device) override { chosen_->evicted(array, device); }
  void done(TaskId task, DeviceId device) override { chosen_->done(task, device); }
  TaskId assign(DeviceId device) override { return chosen_->assign(device); }
  int tasks_ahead(DeviceId device) const override { return chosen_->tasks_ahead(device); }
  ArrayId prefetch(DeviceId device) override { return chosen_->prefetch(device); }
  ArrayId store(DeviceId device) override { return chosen_->store(device); }
  bool awaits_copies() const override { return chosen_->awaits_copies(); }
  bool sends_on() const override { return chosen_->sends_on(); }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    chosen_->victims(request, chosen);
  }

 private:
  std::unique_ptr<TaskScheduler> with_packages(const SchedulerView& view, const Devices& devices,
                                               std::vector<bool> left_out) {
    const std::vector<double> priorities = priorities_of(options_, view.graph);
    StructuralOrder order = structural_order(view.graph);
    index_t memory = view.memory.capacity(devices.front());
    for (const DeviceId device : devices) memory = std::min(memory, view.memory.capacity(device));
    PackagePlan plan = plan_packages(view.graph, order, priorities, memory, static_cast<int>(devices.size()));
    if (!plan.is_found) return make_darts(options_, DartsKind::Corrected);
    const TakeOver take_over = this->take_over(view, devices, plan);
    return make_packages(options_, std::move(order), std::move(plan.packages), take_over,
                         std::move(left_out));
  }

  // What is taken over is copied: where links are what takes longest, only what the memories hold together,
  // so that it comes from another device and not from the host.
  static TakeOver take_over(const SchedulerView& view, const Devices& devices, const PackagePlan& plan) {
    if (devices.size() == 1) return TakeOver::Never;
    if (link_seconds(view, devices, plan.loads) < work_seconds(view, devices)) return TakeOver::Early;
    return plan.fits ? TakeOver::Late : TakeOver::Never;
  }

  SchedulerOptions options_;
  std::unique_ptr<TaskScheduler> chosen_;  // from start() on
};

}  // namespace

std::unique_ptr<TaskScheduler> make_data_aware(const SchedulerOptions& options) {
  return std::make_unique<DataAwareChoice>(options);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
