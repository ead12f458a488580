// Graphs of tasks on devices: random programs at random places under random budgets, by every scheduler, give
// what they give one task after the other.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>

#include "algorithms/tasks/full_devices.hpp"

namespace {

using namespace strata_tests;

struct AddOne {
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += 1; }
};
struct AddFirst {
  STRATA_FUNCTION void operator()(auto i, auto x, auto y) const { y(i) += x(0); }
};

template <class D>
class TaskGraphs : public ::testing::Test {
 protected:
  void TearDown() override {
    for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, index_t{1} << 40);
    if constexpr (!detail::HostType<D> && !std::is_same_v<D, AnyHost>)
      coherent::set_budget(D{}, index_t{1} << 40);
  }
};
TYPED_TEST_SUITE(TaskGraphs, TestDevices, DeviceName);

template <class D>
constexpr bool has_budget = !std::is_same_v<D, AnyHost>;

// With hints, priorities and the like; a scope runs it meanwhile.
template <class Tasks>
void add_program(Tasks& tasks, const TaskProgram& program, const std::vector<Words>& arrays, Random& draw) {
  std::vector<TaskHandle> handles;
  const auto any_array = [&]() -> const Words& {
    return arrays[static_cast<std::size_t>(draw(0, static_cast<index_t>(arrays.size()) - 1))];
  };
  const Words empty("empty", 0);
  for (const TaskProgram::Step& step : program.steps) {
    if (draw(0, 9) == 0) tasks.wont_use(any_array());
    if (draw(0, 19) == 0) tasks.discard(empty);
    if (draw(0, 19) == 0) tasks.wont_use(empty);
    const auto& task = add_step(tasks, step, arrays, "step " + std::to_string(handles.size()));
    if (draw(0, 5) == 0) task.priority(static_cast<double>(draw(-3, 3)));
    if (draw(0, 5) == 0) task.work(static_cast<double>(draw(1, 1000)));
    if (!handles.empty() && draw(0, 5) == 0)
      task.after(handles[static_cast<std::size_t>(draw(0, static_cast<index_t>(handles.size()) - 1))]);
    handles.push_back(task);
  }
}

// How long tasks take on devices, as a scheduler has it: up to a thousand times as long as on others. Of some
// tasks it is not known.
void draw_costs(Random& draw, const TaskProgram& program, TaskCosts& costs) {
  const index_t bytes = program.items * index_t{sizeof(Word)};
  for (const char* const device : {"Emulated", "Threads", "Serial", "Tbb", "Cuda"}) {
    const double slowness = static_cast<double>(index_t{1} << draw(0, 10));
    for (std::size_t k = 0; k < program.steps.size(); ++k)
      if (draw(0, 3) > 0)
        costs.add(device, "step " + std::to_string(k),
                  bytes * static_cast<index_t>(program.uses_of(program.steps[k]).size()), 1e-6 * slowness);
  }
}

// One program, run twice, by a graph or a scope.
template <class D>
void run_random_program(Random& draw, int most_tasks) {
  const TaskProgram program = TaskProgram::draw(draw, most_tasks, draw(0, 1) == 0);
  const std::vector<Words> arrays = initial_arrays(program);
  TaskGraph graph("random");
  add_program(graph, program, arrays, draw);
  // From the largest task, which uses three arrays, upwards.
  const index_t budget = program.items * static_cast<index_t>(sizeof(Word)) * draw(3, 12);
  for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, budget);
  if constexpr (has_budget<D>)
    for (int k = 0; k < D::count(); ++k) coherent::set_budget(D(k), budget);
  TaskProgram twice = program;
  twice.steps.insert(twice.steps.end(), program.steps.begin(), program.steps.end());
  for (const TaskProgram* const so_far : {&program, static_cast<const TaskProgram*>(&twice)}) {
    TaskRunOptions options = random_options(draw, static_cast<int>(program.steps.size()));
    TaskCosts costs;
    if (draw(0, 2) == 0) options.costs = &costs;
    if (draw(0, 1) == 0) draw_costs(draw, program, costs);
    TaskReport report;
    if (draw(0, 1) == 0) {
      ASSERT_NO_THROW(report = run_somewhere<D>(graph, draw, options)) << options.scheduler;
      ASSERT_EQ(report.tasks, graph.size()) << options.scheduler;
    } else {
      long size = 0;
      ASSERT_NO_THROW(report = at_some_place<D>(draw,
                                                [&](const auto& place) {
                                                  TaskScope scope("random", place, options);
                                                  add_program(scope, program, arrays, draw);
                                                  const TaskReport ran = scope.wait();
                                                  size = scope.size();
                                                  return ran;
                                                }))
          << options.scheduler;
      ASSERT_EQ(report.tasks, size) << options.scheduler;
    }
    if (so_far == &twice || draw(0, 1) == 0) {
      ASSERT_TRUE(has_values(arrays, so_far->run_in_order())) << options.scheduler;
    }
  }
}

TYPED_TEST(TaskGraphs, GiveWhatTasksInOrderGive) {
  Random draw;
  for (int trial = 0; trial < trials(200) && !this->HasFatalFailure(); ++trial)
    run_random_program<TypeParam>(draw, trial % 10 == 0 ? 80 : 25);
}

TYPED_TEST(TaskGraphs, GiveWhatTasksInOrderGiveSlow) {
  Random draw;
  for (int trial = 0; trial < 25000 && !this->HasFatalFailure(); ++trial)
    run_random_program<TypeParam>(draw, trial % 100 == 0 ? 300 : 25);
}

// Takes what a device has left, in the middle of a run, as another program would.
template <class D>
struct TakesAll {
  using Block = MDArray<unsigned char, D, rank<1>>;
  std::shared_ptr<std::vector<Block>> taken;
  index_t least;
  void operator()(const Queue<AnyHost>&, const auto&) const {
    for (index_t bytes = index_t{1} << 40; bytes >= least; bytes /= 2) try {
        while (true) taken->push_back(create<Block>("taken", bytes));
      } catch (const OutOfMemory&) {
      }
  }
};

// A device whose memory is full in the middle of a run: what still fits runs, by evictions; what does not
// fails with a text that says so, and all else is right.
TYPED_TEST(TaskGraphs, OfADeviceThatIsFullInTheMiddleKeepWhatWasFinished) {
  using D = TypeParam;
  if constexpr (has_budget<D>) {
    constexpr bool is_emulated = std::is_same_v<D, Emulated>;
    constexpr index_t items = index_t{1} << (is_emulated ? 14 : 19), large_items = 64 * items;  // 4, 256 MiB
    if constexpr (is_emulated) emulated::set_capacity(0, 2 * large_items * index_t{sizeof(Word)});
    std::vector<Words> small;
    for (int k = 0; k < 6; ++k) small.emplace_back("small", items);
    const Words large("large", large_items), after_large("after large", items);
    const auto run_all = [&](const auto& place) {
      using Devices = DeviceList<D>;
      const auto taken = std::make_shared<std::vector<typename TakesAll<D>::Block>>();
      TaskGraph graph("full");
      for (const Words& x : small) graph.launch<Devices>("before", items, AddOne{}, inout(x));
      const TaskHandle full = graph.call<DeviceList<AnyHost>>(
          "takes all", TakesAll<D>{taken, items * index_t{sizeof(Word)} / 16}, in(small.back()));
      graph.launch<Devices>("does not fit", large_items, AddOne{}, inout(large)).after(full);
      graph.launch<Devices>("depends", items, AddFirst{}, in(large, everything), inout(after_large));
      for (const Words& x : small) graph.launch<Devices>("fits", items, AddOne{}, inout(x)).after(full);
      try {
        graph.run(place);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const TaskFailed& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("\"does not fit\""), std::string::npos) << text;
        EXPECT_NE(text.find("no room for"), std::string::npos) << text;
        EXPECT_EQ(error.failed, std::vector<std::string>{"does not fit"});
        EXPECT_EQ(error.dropped, std::vector<std::string>{"depends"});
        EXPECT_TRUE(error.lost.empty()) << text;
      }
    };

    run_all(across(D{}, Threads{}));

    for (const Words& x : small) EXPECT_EQ(Word(x(items - 1)), 2u);
    EXPECT_EQ(Word(large(large_items - 1)), 0u);
    TaskGraph graph("again");
    graph.launch<DeviceList<D>>("fits now", large_items, AddOne{}, inout(large));
    EXPECT_EQ(graph.run(on(D{})).tasks, 1);
    EXPECT_EQ(Word(large(large_items - 1)), 1u);
    if constexpr (is_emulated) emulated::set_capacity(0, emulated::config().capacity);
  }
}

// Emulated devices, of which the first is full: another program has its memory.
class FullDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int k = 0; k < before_.count; ++k) wait(Emulated{k});  // for what other tests have left
    emulated::Config config = before_;
    config.count = 2;
    config.capacity = index_t{1} << 22;
    emulated::configure(config);
    for (index_t bytes = config.capacity; bytes >= 64; bytes /= 2) try {
        while (true) taken_.push_back(create<Block>("taken", bytes, on(Emulated{0})));
      } catch (const OutOfMemory&) {
      }
  }
  void TearDown() override {
    taken_.clear();
    emulated::configure(before_);
  }
  static std::vector<Words> arrays(int count) {
    std::vector<Words> arrays;
    for (int k = 0; k < count; ++k) arrays.emplace_back("x", items);
    return arrays;
  }
  static constexpr index_t items = 1000;

 private:
  using Block = MDArray<unsigned char, Emulated, rank<1>>;
  const emulated::Config before_ = emulated::config();
  std::vector<Block> taken_;
};

TEST_F(FullDevice, LeavesItsTasksToAnother) {
  for (const char* const scheduler : {"data-aware", "eager", "dmda", "darts"}) {
    SCOPED_TRACE(scheduler);
    const std::vector<Words> x = arrays(20);
    TaskGraph graph("two devices");
    for (const Words& array : x) graph.launch<DeviceList<Emulated>>("add", items, AddOne{}, inout(array));

    const TaskReport report = graph.run(across(Emulated{0}, Emulated{1}), scheduler);

    EXPECT_EQ(report.devices[1].tasks, 20);
    for (const Words& array : x) EXPECT_EQ(Word(array(items - 1)), 1u);
  }
}

// Also where a task that runs on hosts alone uses the array that has no room.
TEST_F(FullDevice, FailsOnlyTasksThatRunThere) {
  for (const char* const scheduler : {"data-aware", "eager", "dmda", "lws"}) {
    SCOPED_TRACE(scheduler);
    const std::vector<Words> x = arrays(3);
    TaskGraph graph("a device and a host");
    graph.launch<DeviceList<AnyHost>>("on hosts", items, AddFirst{}, in(x[0], everything), inout(x[1]));
    graph.launch<DeviceList<Emulated>>("on the device", items, AddFirst{}, in(x[0], everything), inout(x[2]));
    try {
      graph.run(across(Emulated{0}, Threads{}), scheduler);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      EXPECT_EQ(error.failed, std::vector<std::string>{"on the device"}) << error.what();
      EXPECT_TRUE(error.dropped.empty() && error.lost.empty());
    }
  }
}

// In processor time that does not grow with the square of their number: one after the other took 9 s.
TEST_F(FullDevice, FailsManyTasksAtOnce) {
  const std::vector<Words> x = arrays(2000);
  TaskGraph graph("one device");
  for (const Words& array : x) graph.launch<DeviceList<Emulated>>("add", items, AddOne{}, inout(array));
  const std::clock_t before = std::clock();
  try {
    graph.run(on(Emulated{0}));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const TaskFailed& error) {
    EXPECT_EQ(error.num_failed, 2000) << error.what();
  }
  EXPECT_LT(std::clock() - before, 3 * CLOCKS_PER_SEC);
}

std::set<std::size_t> numbers_of(const std::vector<std::string>& labels, std::set<std::string>& others) {
  std::set<std::size_t> numbers;
  for (const std::string& label : labels)
    if (label.rfind("step ", 0) == 0) numbers.insert(std::stoul(label.substr(5)));
    else others.insert(label);
  return numbers;
}

// In a scope some functions throw, copies, kernels and allocations of Emulated fail, and devices become full.
// What is not lost is as if the tasks that failed and those that were dropped were not there. Graphs:
// failing_graphs_test.cpp, where also those are compared that were to be dropped.
void run_failing_program(Random& draw) {
  TaskProgram program = TaskProgram::draw(draw, 30, draw(0, 1) == 0);
  std::size_t to_fail = 0;
  for (TaskProgram::Step& step : program.steps) {
    // A join that is dropped would lose contributions of tasks that are done.
    if (step.update == TaskProgram::Step::Update::Reduce) step.update = TaskProgram::Step::Update::Commute;
    step.fails = step.kind == TaskProgram::Step::Kind::Call && draw(0, 5) == 0;
    to_fail += step.fails ? 1 : 0;
  }
  const std::vector<Words> arrays = initial_arrays(program);
  const auto add_steps = [&](auto& tasks) {
    for (std::size_t k = 0; k < program.steps.size(); ++k)
      add_step(tasks, program.steps[k], arrays, "step " + std::to_string(k));
  };
  const index_t budget = program.items * static_cast<index_t>(sizeof(Word)) * draw(3, 12);
  for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, budget);
  TaskRunOptions options = random_options(draw, static_cast<int>(program.steps.size()));
  const bool injects = draw(0, 1) == 0;
  std::optional<FullDevices> full;
  if (draw(0, 3) == 0) full.emplace(draw, static_cast<int>(program.steps.size()), options);
  bool any_may_fail = injects;  // not only tasks that are to
  for (int faults = injects ? static_cast<int>(draw(1, 3)) : 0; faults > 0; --faults)
    emulated::fail(static_cast<emulated::Fault>(draw(0, 2)), static_cast<int>(draw(1, 40)));

  std::set<std::size_t> left_out;
  std::set<std::string> lost;
  std::string story = full ? full->text() + "\n" : "";  // for whoever looks for a fault
  if (injects) story += "with injected failures\n";
  try {
    at_some_place<Emulated>(draw, [&](const auto& place) {
      for (const detail::TaskPart& part : detail::task_parts(place))
        story += part.host != nullptr ? "on a host\n" : "on " + std::to_string(part.device->index()) + "\n";
      any_may_fail = any_may_fail || (full && full->are_all_of(place));
      TaskScope scope("failing", place, options);
      add_steps(scope);
      return scope.wait();
    });
    ASSERT_EQ(to_fail, 0u);
  } catch (const TaskFailed& error) {
    story += error.what();
    ASSERT_TRUE(any_may_fail || to_fail > 0) << story;
    std::set<std::string> others;
    left_out = numbers_of(error.failed, others);
    const std::set<std::size_t> dropped = numbers_of(error.dropped, others);
    if (!any_may_fail) {
      for (const std::size_t failed : left_out) ASSERT_TRUE(program.steps[failed].fails) << failed;
    }
    for (std::size_t k = 0; k < program.steps.size(); ++k)
      ASSERT_TRUE(!program.steps[k].fails || left_out.count(k) + dropped.count(k) == 1) << k;
    lost.insert(error.lost.begin(), error.lost.end());
    if (!injects) {  // only what failed tasks and their dependents were to write may be lost
      std::set<std::string> may_be_lost;
      for (const std::set<std::size_t>* steps :
           {static_cast<const std::set<std::size_t>*>(&left_out), &dropped})
        for (const std::size_t k : *steps)
          for (const TaskProgram::Use& use : program.uses_of(program.steps[k]))
            if (use.writes) may_be_lost.insert(arrays[use.array].label());
      ASSERT_TRUE(std::includes(may_be_lost.begin(), may_be_lost.end(), lost.begin(), lost.end()))
          << error.what();
    }
    left_out.insert(dropped.begin(), dropped.end());
  }
  emulated::clear_faults();
  full.reset();
  ASSERT_TRUE(has_values(arrays, program.run_in_order(left_out), lost))
      << options.scheduler << ", " << options.queues << " queues, a window of " << options.window << "\n"
      << program.text() << story;
}

void run_failing_programs(int count) {
  Random draw;
  for (int trial = 0; trial < count && !::testing::Test::HasFatalFailure(); ++trial)
    run_failing_program(draw);
  for (int k = 0; k < Emulated::count(); ++k) {
    EXPECT_NO_THROW(wait(Emulated{k})) << "an error was left over";
    coherent::set_budget(Emulated{k}, index_t{1} << 40);
  }
}
TEST(FailingTaskScopes, LoseNothingThatTheyDoNotSay) { run_failing_programs(trials(150)); }
TEST(FailingTaskScopes, LoseNothingThatTheyDoNotSaySlow) { run_failing_programs(50000); }

}  // namespace
