// Graphs of tasks in which something fails: what is lost is said, the rest is done.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "algorithms/tasks/task_fixture.hpp"

namespace {

using namespace strata_tests;

struct OnHostsOnly {
  void operator()(const Queue<AnyHost>& queue, const auto& x) const {
    parallel_for(on(queue), x.extent(0), with(Increment{}, x));
  }
};
using TaskFailures = TaskTest;

TEST_F(TaskFailures, DropWhatDependsOnThemAndNothingElse) {
  for (const std::string& scheduler : tasks::scheduler_names()) {
    const std::vector<Words> y = new_arrays();
    TaskGraph graph("g");
    graph.launch("one", 100, Increment{}, inout(y[0]));
    graph.call("bad", Throwing{}, inout(y[0]));
    graph.launch("after", 100, Add{}, in(y[0]), inout(y[1]));
    graph.launch("after that", 100, Increment{}, inout(y[1]));
    graph.launch("other", 100, Increment{}, inout(y[2]));
    graph.launch("other", 100, Add{}, in(y[2]), inout(y[3]));
    try {
      graph.run(across(Emulated{0}, Threads{}), scheduler);
      FAIL() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      EXPECT_EQ(error.failed, std::vector<std::string>{"bad"});
      EXPECT_EQ(error.dropped, (std::vector<std::string>{"after", "after that"}));
      const std::string text = error.what();
      EXPECT_NE(text.find("\"bad\": no luck"), std::string::npos) << text;
      EXPECT_NE(text.find("2 tasks that depend on this did not run: \"after\", \"after that\""),
                std::string::npos)
          << text;
      EXPECT_NE(text.find("3 other tasks are done"), std::string::npos) << text;
    }
    EXPECT_EQ(Word(y[2](0)), 1u) << scheduler;
    EXPECT_EQ(Word(y[3](99)), 1u) << scheduler;
    EXPECT_EQ(Word(y[1](0)), 0u) << scheduler;
  }
}

TEST_F(TaskFailures, DropWhatDependsOnThemInLaterWindows) {
  TaskGraph graph("g");
  const TaskHandle bad = graph.call("bad", Throwing{}, inout(x[0]));
  graph.launch("other", 100, Increment{}, inout(x[1]));
  graph.launch("after", 100, Add{}, in(x[0]), inout(x[2]));
  graph.launch("after that", 100, Increment{}, inout(x[2]));
  graph.launch("told to wait", 100, Increment{}, inout(x[3])).after(bad);
  graph.launch("other", 100, Increment{}, inout(x[1]));
  for (const int window : {1, 2, 3}) {
    TaskRunOptions options;
    options.window = window;
    try {
      graph.run(across(Emulated{0}, Threads{}), options);
      FAIL() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      EXPECT_EQ(error.failed, std::vector<std::string>{"bad"});
      EXPECT_EQ(error.dropped, (std::vector<std::string>{"after", "after that", "told to wait"})) << window;
    }
  }
  EXPECT_EQ(first(1), 6u);
  EXPECT_EQ(first(2), 0u);
  EXPECT_EQ(first(3), 0u);
}

TEST_F(TaskFailures, OfKernelsSayWhatIsLost) {
  for (int k = 1; k <= 3; ++k) {
    const std::vector<Words> y = new_arrays();
    TaskGraph graph("g");
    for (int task = 0; task < 3; ++task)
      graph.launch("t" + std::to_string(task), 100, Increment{}, inout(y[static_cast<std::size_t>(task)]));
    emulated::fail(emulated::Fault::Kernel, k);
    try {
      graph.run(on(Emulated{0}));
      FAIL() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      ASSERT_EQ(error.failed.size(), 1u);
      EXPECT_TRUE(error.dropped.empty());
      for (int task = 0; task < 3; ++task) {
        const std::string label = "t" + std::to_string(task), array = "x" + std::to_string(task);
        if (label != error.failed[0]) {
          EXPECT_EQ(Word(y[static_cast<std::size_t>(task)](0)), 1u) << label;
        } else if (error.lost.empty()) {
          EXPECT_EQ(Word(y[static_cast<std::size_t>(task)](0)), 0u) << label;
        } else {
          EXPECT_EQ(error.lost, std::vector<std::string>{array});
        }
      }
    }
  }
}

TEST_F(TaskFailures, OfACopyAreTriedAgain) {
  for (int k = 1; k <= 6; ++k) {
    const std::vector<Words> y = new_arrays();
    coherent::set_budget(Emulated{0}, 2 * 800);
    TaskGraph graph("g");
    for (int round = 0; round < 3; ++round)
      for (std::size_t a = 0; a < 4; ++a) graph.launch("add", 100, Add{}, in(y[(a + 1) % 4]), inout(y[a]));
    for (const Words& a : y) {
      const auto view = a.write();
      for (index_t i = 0; i < 100; ++i) view(i) = 1;
    }
    emulated::fail(emulated::Fault::Copy, k);
    EXPECT_NO_THROW(graph.run(on(Emulated{0}))) << "the copy number " << k;
    emulated::clear_faults();
    std::vector<Word> expected(4, 1);
    for (int round = 0; round < 3; ++round)
      for (std::size_t a = 0; a < 4; ++a) expected[a] += expected[(a + 1) % 4];
    for (std::size_t a = 0; a < 4; ++a) EXPECT_EQ(Word(y[a](50)), expected[a]) << "the copy number " << k;
  }
}

TEST_F(TaskFailures, OfMemoryGoOnWithLess) {
  for (int k = 1; k <= 4; ++k) {
    const std::vector<Words> y = new_arrays();
    TaskGraph graph("g");
    for (std::size_t a = 0; a < 4; ++a) graph.launch("increment", 100, Increment{}, inout(y[a]));
    emulated::fail(emulated::Fault::Allocation, k);
    EXPECT_NO_THROW(graph.run(on(Emulated{0}))) << "the allocation number " << k;
    for (std::size_t a = 0; a < 4; ++a) EXPECT_EQ(Word(y[a](7)), 1u);
  }
}

TEST_F(TaskFailures, OfTasksLargerThanAllMemories) {
  TaskGraph graph("g");
  graph.launch("add", 100, Add{}, in(x[0]), inout(x[1]));
  coherent::set_budget(Emulated{0}, 1599);
  const std::string text = message_of<tasks::TaskError>([&] { graph.run(on(Emulated{0})); });
  EXPECT_EQ(text,
            "the task \"add\" of \"g\" needs 1600 bytes at once, of \"x0\", \"x1\", more than tasks may use "
            "of any device that can run it: Emulated{0} (1599 bytes). Allow more with "
            "coherent::set_budget(device, bytes), or options.host_memory of hosts, or divide the arrays into "
            "smaller ones");
  coherent::set_budget(Emulated{0}, 1024);
  const std::string other_text = message_of<tasks::TaskError>([&] { graph.run(on(Emulated{0})); });
  EXPECT_NE(other_text.find("needs 1.56 KiB at once"), std::string::npos) << other_text;
  EXPECT_NE(other_text.find("Emulated{0} (1 KiB)"), std::string::npos) << other_text;
  coherent::set_budget(Emulated{0}, 1600);
  EXPECT_NO_THROW(graph.run(on(Emulated{0})));
}

TEST_F(TaskFailures, TasksGoOnlyWhereTheyHaveAVersion) {
  TaskGraph graph("g");
  for (int k = 0; k < 10; ++k) {
    graph.call("host", OnHostsOnly{}, inout(x[0]));
    graph.call("device", OnEmulatedOnly{}, inout(x[static_cast<std::size_t>(k % 2 + 1)]));
  }
  for (const std::string& scheduler : tasks::scheduler_names()) {
    const TaskReport report = graph.run(across(Emulated{0}, Threads{}), scheduler);
    EXPECT_EQ(report.devices[0].tasks, 10) << scheduler;
    EXPECT_EQ(report.devices[1].tasks, 10) << scheduler;
  }
  EXPECT_EQ(first(0), 10 * tasks::scheduler_names().size());
  const std::string text = message_of<Error>([&] { graph.run(on(Emulated{0})); });
  EXPECT_NE(text.find("the task \"host\" of \"g\" has no version for \"Emulated{0}\""), std::string::npos)
      << text;
}

TEST_F(TaskFailures, OfUsesThatExcludeEachOther) {
  TaskGraph graph("g");
  EXPECT_THROW(
      graph.call("twice", Nothing{}, inout(x[0], fixed(Box({0}, {5}))), in(x[0], fixed(Box({4}, {8})))),
      AccessConflict);
  graph.launch("increment", 100, Increment{}, inout(x[0]));
  {
    const auto view = x[0].read();
    const std::string text = message_of<AccessConflict>([&] { graph.run(on(Emulated{0})); });
    EXPECT_NE(text.find("a host view"), std::string::npos) << text;
  }
  EXPECT_NO_THROW(graph.run(on(Emulated{0})));
  EXPECT_THROW(graph.run(across(Emulated{0}, Emulated{0})), Error);
  EXPECT_THROW(graph.run(on(Emulated{0}), "no such scheduler"), tasks::TaskError);
}

struct UsesAnArray {
  Words other;
  void operator()(const auto& queue, const auto&) const { launch(on(queue), 100, Increment{}, inout(other)); }
};
struct ReadsAnArray {
  Words other;
  void operator()(const auto&, const auto&) const { static_cast<void>(other.read()); }
};
TEST_F(TaskFailures, OfFunctionsThatUseOtherArrays) {
  for (int k = 0; k < 2; ++k) {
    for (int place = 0; place < 2; ++place) {
      const std::vector<Words> arrays = new_arrays();
      const Words &y = arrays[0], &other = arrays[1];
      TaskGraph graph("g");
      if (k == 0) graph.call("launches", UsesAnArray{other}, inout(y));
      else graph.call("reads", ReadsAnArray{other}, inout(y));
      const std::string text =
          message_of<TaskFailed>([&] { place == 0 ? graph.run(on(Emulated{0})) : graph.run(on(Threads{})); });
      EXPECT_NE(text.find("in the function of a task"), std::string::npos) << text;
    }
  }
}

TEST_F(TaskFailures, OfHandles) {
  TaskGraph graph("g"), other("h");
  const TaskHandle a = graph.launch("a", 100, Increment{}, inout(x[0]));
  const TaskHandle b = other.launch("b", 100, Increment{}, inout(x[0]));
  EXPECT_THROW(a.after(b), Error);
  EXPECT_THROW(a.after(a), Error);
  EXPECT_THROW(a.priority(std::numeric_limits<double>::quiet_NaN()), Error);
  EXPECT_THROW(a.work(0), Error);

  graph.clear();
  const TaskHandle c = graph.launch("c", 100, Increment{}, inout(x[0]));
  EXPECT_THROW(a.priority(1), Error) << "a task that clear() has removed";
  EXPECT_THROW(a.work(1), Error);
  EXPECT_THROW(c.after(a), Error);
  EXPECT_NO_THROW(c.priority(1).work(1));
}

// A task that adds tasks, from the host.
struct Adds {
  TaskGraph* graph;
  Words x;
  void operator()(const Queue<AnyHost>&, const auto&) const {
    for (int k = 0; k < 5; ++k) graph->launch("added", 100, Increment{}, inout(x));
  }
};
TEST_F(TaskFailures, TasksAddTasks) {
  TaskGraph graph("g");
  graph.call("adds", Adds{&graph, x[1]}, inout(x[0]));
  EXPECT_EQ(graph.run(across(Emulated{0}, Threads{})).tasks, 6);
  EXPECT_EQ(first(1), 5u);
}

// A task that was added needs what an earlier one writes anew that has not run yet: nothing is missing.
TEST_F(TaskFailures, AddedTasksUseWhatIsWrittenAnewBeforeThem) {
  const Words y("y", 100);
  TaskGraph graph("g");
  graph.call("bad", Throwing{}, inout(x[0]));
  graph.call(
      "adds",
      [&](const Queue<AnyHost>&, const auto&) { graph.launch("added", 100, Add{}, in(x[0]), inout(y)); },
      in(x[1]));
  graph.launch("anew", 100, Write{1}, in(x[2]), out(x[0]));
  TaskRunOptions options;
  options.window = 2;
  try {
    graph.run(on(Threads{}), options);
    FAIL() << "nothing was thrown";
  } catch (const TaskFailed& error) {
    EXPECT_EQ(error.failed, std::vector<std::string>{"bad"});
    EXPECT_TRUE(error.dropped.empty()) << error.what();
  }
  EXPECT_EQ(Word(y(7)), hash(1, 0));
}

TEST_F(TaskFailures, TwoGraphsOverTheSameArraysWait) {
  TaskGraph one("one"), two("two");
  for (int k = 0; k < 50; ++k)
    for (std::size_t a = 0; a < 4; ++a) {
      one.launch("one", 100, Increment{}, inout(x[a]));
      two.launch("two", 100, Increment{}, inout(x[3 - a]));
    }
  std::thread thread([&] { one.run(on(Emulated{0})); });
  two.run(across(Emulated{1}, Threads{}));
  thread.join();
  for (int a = 0; a < 4; ++a) EXPECT_EQ(first(a), 100u);
}

TEST_F(TaskFailures, TwoGraphsOfSeveralWindowsWaitForOneAnotherOnce) {
  TaskGraph one("one"), two("two");
  for (std::size_t a = 0; a < 4; ++a) {
    one.call("read", Nothing{}, in(x[a]));
    two.call("read", Nothing{}, in(x[3 - a]));
  }
  for (std::size_t a = 0; a < 4; ++a) {
    one.launch("one", 100, Increment{}, inout(x[a]));
    two.launch("two", 100, Increment{}, inout(x[3 - a]));
  }
  TaskRunOptions options;
  options.window = 1;
  for (int trial = 0; trial < 50; ++trial) {
    std::thread thread([&] { one.run(on(Emulated{0}), options); });
    two.run(on(Emulated{1}), options);
    thread.join();
  }
  for (int a = 0; a < 4; ++a) EXPECT_EQ(first(a), 100u);
}

TEST_F(TaskFailures, AnArrayMayBeGivenUpWhileItsTasksWait) {
  TaskGraph graph("g");
  {
    Words y("y", 100);
    graph.launch("y", 100, Increment{}, inout(y));
    graph.launch("x", 100, Add{}, in(y), inout(x[0]));
  }
  graph.run(on(Emulated{0}));
  EXPECT_EQ(first(0), 1u);
}

TEST_F(TaskFailures, AGraphIsWrittenAsJson) {
  TaskGraph graph("g");
  const Words same("x0", 100);
  const TaskHandle a = graph.launch("a", 100, Increment{}, inout(x[0]));
  graph.launch("b", 100, Add{}, in(same), commute(x[1])).after(a).work(5);
  const std::string path = ::testing::TempDir() + "task_graph_test.json";
  graph.write_json(path);
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  ASSERT_EQ(json.at("arrays").size(), 3u);
  EXPECT_EQ(json["arrays"][1]["name"], "x0#1");
  EXPECT_EQ(json["arrays"][1]["bytes"], 800);
  ASSERT_EQ(json.at("tasks").size(), 2u);
  EXPECT_EQ(json["tasks"][1]["after"][0], json["tasks"][0]["name"]);
  EXPECT_EQ(json["tasks"][1]["commute"][0], "x1");
  EXPECT_EQ(json["tasks"][1]["work"], 5.0);
  EXPECT_THROW(graph.write_json("/no/such/folder/graph.json"), FileError);

  TaskCosts costs;
  costs.add("Cuda", "a", 800, 0.5);
  costs.add("Threads", "a", 800, 2);
  costs.add("Cuda", "b", 7, 1);  // of other arrays
  graph.write_json(path, costs);
  std::ifstream measured(path);
  const nlohmann::json tasks = nlohmann::json::parse(measured).at("tasks");
  EXPECT_EQ(tasks[0].at("seconds"), (nlohmann::json{{"Cuda", 0.5}, {"Threads", 2}}));
  EXPECT_FALSE(tasks[1].contains("seconds"));
}

// What hints do is seen in what is copied.
TEST_F(TaskFailures, HintsSayWhatIsCopied) {
  for (const bool discards : {false, true}) {
    const Words y = new_arrays().front();
    TaskGraph graph("g");
    graph.launch("write", 100, Increment{}, inout(y));
    if (discards) graph.discard(y);
    else graph.wont_use(y);
    EXPECT_EQ(graph.size(), 1);
    const TaskReport report = graph.run(on(Emulated{0}));
    EXPECT_EQ(report.bytes_from_devices, discards ? 0 : 800);
    EXPECT_EQ(coherent::resident_bytes(Emulated{0}), 0);
    if (!discards) {
      EXPECT_EQ(Word(y(0)), 1u);
    }
  }
}

TEST_F(TaskFailures, CostsAreLearnedAndKept) {
  TaskCosts costs;
  TaskGraph graph("g");
  for (int k = 0; k < 20; ++k) graph.launch("a label", 100, Increment{}, inout(x[0]));
  TaskRunOptions options;
  options.costs = &costs;
  graph.run(on(Emulated{0}), options);
  EXPECT_GE(costs.count("Emulated", "a label", 800), 10);
  EXPECT_GT(costs.seconds("Emulated", "a label", 800), 0);
  graph.run(on(Serial{}), options);
  EXPECT_EQ(costs.count("Serial", "a label", 800), 20);
  EXPECT_EQ(costs.seconds("Serial", "a label", 801), -1);

  const std::string path = ::testing::TempDir() + "task_costs.txt";
  costs.write(path);
  TaskCosts read;
  read.read(path);
  EXPECT_EQ(read.count("Serial", "a label", 800), 20);
  EXPECT_NEAR(read.seconds("Serial", "a label", 800), costs.seconds("Serial", "a label", 800),
              1e-8 * costs.seconds("Serial", "a label", 800));
  read.read(path);
  EXPECT_EQ(read.count("Serial", "a label", 800), 40);

  std::ofstream(path) << "strata task costs 1\nSerial 800 x 1 a\n";
  const std::string text = message_of<FileError>([&] { read.read(path); });
  EXPECT_NE(text.find("line 2"), std::string::npos) << text;
  EXPECT_EQ(read.count("Serial", "a label", 800), 40);
  std::ofstream(path) << "something else\n";
  EXPECT_THROW(read.read(path), FileError);
  EXPECT_THROW(read.read("/no/such/file"), FileError);
  EXPECT_THROW(read.write("/no/such/folder/file"), FileError);
}

// Where costs are known a scheduler of expected ends uses the faster device.
TEST_F(TaskFailures, CostsDecideWhereTasksRun) {
  for (const bool host_is_fast : {false, true}) {
    TaskCosts costs;
    costs.add("Emulated", "task", 800, host_is_fast ? 10 : 1e-6);
    costs.add("Threads", "task", 800, host_is_fast ? 1e-6 : 10);
    TaskGraph graph("g");
    for (int k = 0; k < 20; ++k)
      graph.launch("task", 100, Increment{}, inout(x[static_cast<std::size_t>(k % 4)]));
    TaskRunOptions options;
    options.costs = &costs;
    options.scheduler = "dmda";
    const TaskReport report = graph.run(across(Emulated{0}, Threads{}), options);
    EXPECT_EQ(report.devices[host_is_fast ? 1 : 0].tasks, 20);
  }
}

struct Sleeps {
  void operator()(const Queue<AnyHost>&, const auto&) const {
    std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  }
};
TEST_F(TaskFailures, TheWatchdogSaysWhatIsUnderWay) {
  TaskGraph graph("g");
  graph.call("sleeps", Sleeps{}, inout(x[0]));
  TaskRunOptions options;
  options.watchdog_seconds = 0.05;
  ::testing::internal::CaptureStderr();
  graph.run(on(Threads{}), options);
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("the run of \"g\": nothing has ended for 0 s. Under way:\n  on Threads: the task "
                      "\"sleeps\" of \"x0\""),
            std::string::npos)
      << text;
}

struct AddSeven {
  STRATA_FUNCTION void operator()(auto i, auto c) const {
    for (index_t j = 0; j < c.extent(1); ++j)
      for (index_t k = 0; k < c.extent(2); ++k) c(i, j, k) += 7;
  }
};
struct AddOne {  // every item to one element of its own
  Word value;
  STRATA_FUNCTION void operator()(auto i, auto x) const { x(i) += value; }
};
struct Largest {
  template <class T>
  STRATA_FUNCTION static constexpr T identity() {
    return T{};
  }
  template <class T>
  STRATA_FUNCTION constexpr T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Propose {
  Word value;
  STRATA_FUNCTION void operator()(auto i, auto x) const {
    if (x(i) < value) x(i) = value;
  }
};
TEST_F(TaskFailures, ContributionsJoinBeforeOtherUses) {
  for (const std::string& scheduler : tasks::scheduler_names()) {
    const std::vector<Words> arrays = new_arrays();
    const Words &y = arrays[0], &z = arrays[1];
    const CoherentArray<Word, rank<3>> cube("cube", 5, 4, 3);
    TaskGraph graph("g");
    Word sum = 0;
    for (Word k = 1; k <= 20; ++k) {
      graph.launch("contribute", 100, AddOne{k}, reduce(y));
      sum += k;
      if (k == 10) graph.launch("double", 100, Add{}, in(y), inout(z));
    }
    for (Word k = 1; k <= 6; ++k) graph.launch("largest", 100, Propose{k}, reduce(z, Largest{}));
    graph.call(
        "cube",
        [](const auto& queue, const auto& c) { parallel_for(on(queue), c.extent(0), with(AddSeven{}, c)); },
        reduce(cube));
    graph.run(across(Emulated{0}, Emulated{1}, Threads{}), scheduler);
    EXPECT_EQ(Word(y(99)), sum) << scheduler;
    EXPECT_EQ(Word(z(0)), 55u) << scheduler;
    EXPECT_EQ(Word(cube(4, 3, 2)), 7u) << scheduler;
    graph.run(on(Emulated{0}), scheduler);
    EXPECT_EQ(Word(y(99)), 2 * sum) << scheduler;
  }
}

}  // namespace
