// What a run makes of errors of tasks, by where they come from; what it plans anew after them, and what its
// scheduler gets.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include <strata/algorithms/tasks/plan/forwarding_scheduler.hpp>
#include <strata/algorithms/tasks/plan/lru_order.hpp>

#include "algorithms/tasks/task_fixture.hpp"

namespace {

using namespace strata_tests;

// A task that writes nothing has nothing but its end for which others wait.
TEST(TaskErrors, DropWhatIsToWaitByName) {
  const std::vector<Words> x = {Words("x0", 100), Words("x1", 100), Words("x2", 100)};
  TaskGraph graph("g");
  const TaskHandle bad = graph.call("bad", Throwing{}, in(x[0]));
  graph.launch("waits", 100, Increment{}, inout(x[1])).after(bad);
  graph.launch("other", 100, Increment{}, inout(x[2]));
  try {
    graph.run(on(Threads{}));
    FAIL() << "nothing was thrown";
  } catch (const TaskFailed& error) {
    EXPECT_EQ(error.failed, std::vector<std::string>{"bad"});
    EXPECT_EQ(error.dropped, std::vector<std::string>{"waits"});
  }
  EXPECT_EQ(Word(x[2](0)), 1u);
}

struct ThrowsOutOfMemory {
  std::atomic<int>* calls;
  void operator()(const auto&, const auto&) const {
    ++*calls;
    throw OutOfMemory("the function's own");
  }
};
struct KernelThrowsOutOfMemory {
  std::atomic<int>* calls;
  void operator()(auto, auto) const {
    ++*calls;
    throw OutOfMemory("the kernel's own");
  }
};
// The run goes on with less memory where it lacks some; that of a task's own work is the task's failure.
TEST(TaskErrors, OutOfMemoryOfATaskIsItsOwn) {
  std::atomic<int> calls = 0;
  for (const bool is_late : {false, true}) {
    calls = 0;
    const Words x("x", 100);
    TaskGraph graph("g");
    if (is_late)
      graph.launch<DeviceList<Emulated>>("bad", 1, KernelThrowsOutOfMemory{&calls}, inout(x, everything));
    else graph.call("bad", ThrowsOutOfMemory{&calls}, inout(x));
    const std::string text = message_of<TaskFailed>([&] { graph.run(on(Emulated{0})); });
    EXPECT_NE(text.find("own"), std::string::npos) << text;
    EXPECT_EQ(calls, 1) << "it is not tried again";
  }
}

// Device 1 runs "first"; then device 0 gets "over", and device 1 "other", for whose array that of "first"
// leaves.
class GivesTasksInTurn final : public tasks::TaskScheduler {
 public:
  void start(const tasks::SchedulerView& view) override {
    view_.emplace(view);
    lru_.start(view);
  }
  void ready(tasks::TaskId task, tasks::DeviceId) override { ready_.push_back(task); }
  void loaded(tasks::ArrayId array, tasks::DeviceId device) override { lru_.loaded(array, device); }
  void evicted(tasks::ArrayId array, tasks::DeviceId device) override { lru_.evicted(array, device); }
  tasks::TaskId assign(tasks::DeviceId device) override {
    if (device == 0) return take("over");
    const tasks::TaskId first = take("first");
    return first != tasks::none || is_waiting("over") ? first : take("other");
  }
  void victims(const tasks::RoomRequest& request, std::vector<tasks::ArrayId>& chosen) override {
    lru_.victims(request, chosen);
  }

 private:
  bool is(tasks::TaskId task, const std::string& label) const {
    return view_->graph.task(task).label == "\"" + label + "\"";
  }
  // Not assigned yet.
  bool is_waiting(const std::string& label) const {
    for (tasks::TaskId task = 0; task < view_->graph.num_tasks(); ++task)
      if (is(task, label)) return taken_.count(task) == 0;
    return false;
  }
  tasks::TaskId take(const std::string& label) {
    for (const tasks::TaskId task : ready_)
      if (is(task, label) && taken_.insert(task).second) return task;
    return tasks::none;
  }

  std::optional<tasks::SchedulerView> view_;
  tasks::LruOrder lru_;
  std::vector<tasks::TaskId> ready_;
  std::set<tasks::TaskId> taken_;
};

// Values that a task is to write anew leave where they were without a copy. Where that task then finds no
// room for the new ones, there are none: the error says so.
TEST(TaskErrors, NameAnArrayThatWasGivenUpForATaskThatFails) {
  constexpr index_t items = 1 << 13, bytes = items * index_t{sizeof(Word)};
  const Words x("x", items), d("d", items), c("c", items);
  coherent::set_budget(Emulated{0}, 2 * bytes);
  coherent::set_budget(Emulated{1}, bytes);
  emulated::set_capacity(0, emulated::used(0) + bytes);  // for d, not for x
  TaskGraph graph("g");
  graph.launch<DeviceList<Emulated>>("first", items, Increment{}, inout(x));
  graph.launch<DeviceList<Emulated>>("over", items, Write{1}, in(d), out(x));
  graph.launch<DeviceList<Emulated>>("other", items, Increment{}, inout(c));

  try {
    graph.run(across(Emulated{0}, Emulated{1}), GivesTasksInTurn{});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TaskFailed& error) {
    EXPECT_EQ(error.failed, std::vector<std::string>{"over"}) << error.what();
    EXPECT_EQ(error.lost, std::vector<std::string>{"x"}) << error.what();
    EXPECT_EQ(Word(c(items - 1)), 1u);
  }
  emulated::set_capacity(0, emulated::config().capacity);
  lift_budgets();
}

// Passes all on, and counts the tasks that it is to know.
class CountsTasks final : public tasks::ForwardingScheduler {
 public:
  CountsTasks(const tasks::SchedulerOptions& options, long& count)
      : ForwardingScheduler(tasks::make_scheduler("eager", options)), count_(count) {}
  void submitted(tasks::TaskId task) override {
    ++count_;
    ForwardingScheduler::submitted(task);
  }

 private:
  long& count_;
};
// Passes all on, and looks how long the tasks are expected to take.
class NotesSeconds final : public tasks::ForwardingScheduler {
 public:
  NotesSeconds(const tasks::SchedulerOptions& options, std::vector<double>& seconds)
      : ForwardingScheduler(tasks::make_scheduler("eager", options)), seconds_(seconds) {}
  void start(const tasks::SchedulerView& view) override {
    for (tasks::TaskId task = 0; task < view.graph.num_tasks(); ++task)
      for (tasks::DeviceId device = 0; device < view.machine.num_devices(); ++device)
        seconds_.push_back(view.machine.run_seconds(view.graph, task, device));
    ForwardingScheduler::start(view);
  }

 private:
  std::vector<double>& seconds_;
};
// Of tasks that nobody has measured: operations are not taken for bytes, of which a device does fewer.
TEST(TaskEstimates, CountOperationsWhereTheProgramSaysThem) {
  const Words x("x", 1000);
  TaskGraph graph("g");
  graph.launch("update", 1000, Increment{}, inout(x));
  graph.launch("update", 1000, Increment{}, inout(x)).work(2e9);
  TaskRunOptions options;
  std::vector<double> seconds;
  options.make_scheduler = [&](const tasks::SchedulerOptions& scheduler) -> tasks::TaskScheduler* {
    return new NotesSeconds(scheduler, seconds);
  };

  graph.run(across(Emulated{0}, Threads{}), options);

  ASSERT_EQ(seconds.size(), 4u);
  EXPECT_LT(seconds[0], 1e-6);
  EXPECT_NEAR(seconds[2], 1e-4, 1e-6);
  for (const std::size_t task : {0u, 2u}) EXPECT_NEAR(seconds[task + 1] / seconds[task], 50, 1e-6);
}

// Each failure plans what is left anew: not all of it, or n failures would cost n * n.
TEST(TaskErrors, ManyPlanInProportion) {
  for (const int one_in : {1, 10, 100}) {
    TaskGraph graph("g");
    constexpr int count = 1000;
    for (int k = 0; k < count; ++k) {
      const Words own("own", 1);
      if (k % one_in == 0) graph.call("bad", Throwing{}, inout(own));
      else graph.launch("good", 1, Increment{}, inout(own));
    }
    long planned = 0;
    TaskRunOptions options;
    options.make_scheduler = [&](const tasks::SchedulerOptions& scheduler) -> tasks::TaskScheduler* {
      return new CountsTasks(scheduler, planned);
    };
    try {
      graph.run(on(Threads{}), options);
      FAIL() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      EXPECT_EQ(error.failed.size(), static_cast<std::size_t>(count / one_in));
    }
    EXPECT_LE(planned, 20 * count) << "one in " << one_in << " fails";
  }
}

// Where one device holds all, it has so many tasks at a time that its queues are busy.
TEST(TaskWindows, OfOneDeviceThatHoldsAllAreTwiceItsQueues) {
  const std::vector<Words> x = {Words("x0", 100), Words("x1", 100)};
  TaskGraph graph("g");
  for (const Words& array : x) graph.launch("increment", 100, Increment{}, inout(array));
  int window = -1;
  long planned = 0;
  TaskRunOptions options;
  options.queues = 3;
  options.make_scheduler = [&](const tasks::SchedulerOptions& scheduler) -> tasks::TaskScheduler* {
    window = scheduler.tasks_ahead;
    return new CountsTasks(scheduler, planned);
  };
  graph.run(on(Emulated{0}), options);
  EXPECT_EQ(window, 6);
  coherent::set_budget(Emulated{0}, 1599);
  graph.run(on(Emulated{0}), options);
  EXPECT_EQ(window, 0) << "as the scheduler has it, where memory is short";
  coherent::set_budget(Emulated{0}, index_t{1} << 40);
  graph.run(across(Emulated{0}, Emulated{1}), options);
  EXPECT_EQ(window, 0) << "and where devices share the work";
  graph.run(on(Threads{}), options);
  EXPECT_EQ(window, 0);
}

// A task that uses no element has costs as any other, though no bytes.
TEST(TaskCostsOf, TasksWithoutElementsAreKnown) {
  const Words x("x", 100);
  TaskGraph graph("g");
  for (int k = 0; k < 3; ++k) graph.launch("nothing", range(5, 5), Increment{}, inout(x));
  TaskCosts costs;
  TaskRunOptions options;
  options.costs = &costs;
  for (int run = 0; run < 3; ++run) EXPECT_EQ(graph.run(across(Emulated{0}, Threads{}), options).tasks, 3);
  EXPECT_GT(costs.count("Emulated", "nothing", 0) + costs.count("Threads", "nothing", 0), 0);
}

// A host beside a device: whether nothing is known, only of the device, or of both, a slow host is left what
// only it can run; by the scheduler that is the default.
TEST(TaskCostsOf, ASlowHostIsLeftNothing) {
  const auto tasks_of_host = [](double device_seconds, double host_seconds) {
    std::vector<Words> x;
    for (int k = 0; k < 8; ++k) x.emplace_back("x", 100);
    TaskGraph graph("g");
    for (int k = 0; k < 64; ++k)
      graph.launch("multiply", 100, Increment{}, inout(x[static_cast<std::size_t>(k % 8)])).work(1e9);
    TaskCosts costs;
    if (device_seconds > 0) costs.add("Emulated", "multiply", 800, device_seconds);
    if (host_seconds > 0) costs.add("Threads", "multiply", 800, host_seconds);
    TaskRunOptions options;
    options.costs = &costs;
    options.scheduler = "data-aware";
    return graph.run(across(Emulated{0}, Threads{}), options).devices[1].tasks;
  };

  EXPECT_EQ(tasks_of_host(0, 0), 0);
  EXPECT_EQ(tasks_of_host(2e-5, 0), 0);     // 50 TFLOP/s, more than expected of a device
  EXPECT_EQ(tasks_of_host(1e-3, 0), 0);     // less: and so is the host expected to be
  EXPECT_EQ(tasks_of_host(2e-3, 5e-2), 0);  // a run of 16 ms, long enough to try several schedules
  EXPECT_EQ(tasks_of_host(1e-2, 0.2), 0);
  EXPECT_EQ(tasks_of_host(2e-2, 1e-3), 64) << "where the device is the slow one";
}

// Hints and tasks for no elements leave the numbers of other arrays alone.
TEST(TaskHints, OfEmptyArraysChangeNothing) {
  const Words empty("empty", 0), x("x", 100), y("y", 100);
  coherent::set_budget(Emulated{0}, 100 * static_cast<index_t>(sizeof(Word)));
  TaskGraph graph("g");
  graph.discard(empty);
  graph.wont_use(empty);
  for (int k = 0; k < 3; ++k) {
    graph.launch("increment", 100, Increment{}, inout(x));
    graph.launch("increment", 0, Increment{}, inout(empty));
    graph.launch("increment", 100, Increment{}, inout(y));
    graph.discard(empty);
  }
  const Word before = x.read()(7);
  for (const int window : {1, 4, std::numeric_limits<int>::max()}) {
    TaskRunOptions options;
    options.window = window;
    graph.run(on(Emulated{0}), options);
  }
  coherent::set_budget(Emulated{0}, index_t{1} << 40);
  EXPECT_EQ(x.read()(7), before + 9);
  EXPECT_EQ(x.read()(7), y.read()(7));
}

}  // namespace
