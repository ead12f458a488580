// data-aware: packages of outputs (data_aware.cpp) where memory is short. Where each device has room for all
// arrays nothing has to leave, and what counts is when tasks end: then by expected ends (dmda.cpp), in the
// order of priorities. Where accesses have no structure that packages could use: by the array that frees most
// tasks (darts.cpp).
#include <algorithm>
#include <memory>
#include <set>

#include <strata/algorithms/tasks/plan/scheduler_kinds.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

bool all_fit(const SchedulerView& view) {
  index_t bytes = 0;
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array) bytes += view.graph.array(array).bytes;
  for (DeviceId device = 0; device < view.machine.num_devices(); ++device)
    if (view.memory.capacity(device) < bytes) return false;
  return true;
}

// Of the tasks, shared by all devices.
double work_seconds(const SchedulerView& view) {
  double seconds = 0;
  for (TaskId task = 0; task < view.graph.num_tasks(); ++task)
    seconds += view.machine.run_seconds(view.graph, task, 0);
  return seconds / view.machine.num_devices();
}

// Of what is loaded, and of storing each array once, over the links of the host.
double link_seconds(const SchedulerView& view, double loads) {
  double stores = 0, bytes_per_second = 0;
  for (ArrayId array = 0; array < view.graph.num_arrays(); ++array)
    stores += static_cast<double>(view.graph.array(array).bytes);
  bool is_duplex = true;
  std::set<int> links;
  for (DeviceId device = 0; device < view.machine.num_devices(); ++device) {
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
    const int num_devices = view.machine.num_devices();
    const bool has_few_tasks = num_devices > 1 && view.graph.num_tasks() < few_tasks * num_devices;
    chosen_ = all_fit(view) && !has_few_tasks ? make_dmda(options_, true) : with_packages(view);
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
  bool sends_on() const override { return chosen_->sends_on(); }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    chosen_->victims(request, chosen);
  }

 private:
  std::unique_ptr<TaskScheduler> with_packages(const SchedulerView& view) {
    const std::vector<double> priorities = priorities_of(options_, view.graph);
    StructuralOrder order = structural_order(view.graph);
    index_t memory = view.memory.capacity(0);
    for (DeviceId device = 1; device < view.machine.num_devices(); ++device)
      memory = std::min(memory, view.memory.capacity(device));
    PackagePlan plan = plan_packages(view.graph, order, priorities, memory, view.machine.num_devices());
    if (!plan.is_found) return make_darts(options_, DartsKind::Corrected);
    return make_packages(options_, std::move(order), std::move(plan.packages), take_over(view, plan));
  }

  // What is taken over is copied: where links are what takes longest, only what the memories hold together,
  // so that it comes from another device and not from the host.
  static TakeOver take_over(const SchedulerView& view, const PackagePlan& plan) {
    if (view.machine.num_devices() == 1) return TakeOver::Never;
    if (link_seconds(view, plan.loads) < work_seconds(view)) return TakeOver::Early;
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
