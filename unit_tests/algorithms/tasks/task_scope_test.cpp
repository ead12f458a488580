// Scopes of tasks: what runs as it is added, in memory that is bounded by the window.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <strata/algorithms/tasks/device_turns.hpp>
#include <strata/algorithms/tasks/plan/lru_order.hpp>
#include <strata/algorithms/tasks/task_graph.hpp>
#include <strata/algorithms/tasks/task_scope.hpp>
#include <strata/core/unheard_errors.hpp>
#include <strata/views/coherent/whole_copies.hpp>

#include "algorithms/tasks/task_fixture.hpp"

namespace {

using namespace strata_tests;

// On a host: ends when it may.
struct WaitsFor {
  const std::atomic<bool>* may_end;
  void operator()(const Queue<AnyHost>&, const auto&) const {
    while (!*may_end) std::this_thread::yield();
  }
};

using TaskScopes = TaskTest;

TEST_F(TaskScopes, RunTasksAsTheyAreAdded) {
  TaskScope scope("scope", across(Emulated{0}, Threads{}));
  std::atomic<bool> has_run = false;
  scope.call(
      "first", [&](const Queue<AnyHost>&, const auto&) { has_run = true; }, inout(x[0]));
  while (!has_run) std::this_thread::yield();  // before wait()
  scope.launch("increment", 100, Increment{}, inout(x[0]));
  scope.launch("add", 100, Add{}, in(x[0]), inout(x[1]));
  const TaskReport report = scope.wait();
  EXPECT_EQ(report.tasks, 3);
  EXPECT_EQ(scope.size(), 3);
  EXPECT_EQ(first(1), 1u);
}

TEST_F(TaskScopes, WithoutTasksReportNone) {
  TaskScope scope("empty", on(Emulated{0}));
  EXPECT_EQ(scope.wait().tasks, 0);
  const TaskScope unused("unused", on(Threads{}));
}

// A host view waits for the tasks that were added and use its array, and for no others.
TEST_F(TaskScopes, ViewsOfTheHostWaitForTheTasksSoFar) {
  TaskScope scope("views", across(Emulated{0}, Threads{}));
  for (Word round = 1; round <= 20; ++round) {
    for (int k = 0; k < 5; ++k) scope.launch("increment", 100, Increment{}, inout(x[0]));
    EXPECT_EQ(first(0), 5 * round);
    x[1].write()(0) = round;
    scope.launch("add", 100, Add{}, in(x[1]), inout(x[2]));
    scope.launch("contribute", 100, Increment{}, reduce(x[3]));
    EXPECT_EQ(first(3), round);
  }
  scope.wait();
  EXPECT_EQ(first(2), 210u);
}

TEST_F(TaskScopes, PrioritiesAndOrderAreGivenInTheStatementThatAdds) {
  for (int trial = 0; trial < 20; ++trial) {
    std::atomic<int> step = 0;
    int saw = -1;
    TaskScope scope("order", across(Emulated{0}, Threads{}));
    const TaskHandle before = scope.call(
        "before", [&](const Queue<AnyHost>&, const auto&) { ++step; }, inout(x[0]));
    scope
        .call(
            "after", [&](const Queue<AnyHost>&, const auto&) { saw = step; }, inout(x[1]))
        .priority(2)
        .work(100)
        .after(before);
    scope.wait();
    EXPECT_EQ(saw, 1);
  }
}

TEST_F(TaskScopes, RefuseLateChangesOfTasks) {
  TaskScope scope("late", on(Threads{}));
  const TaskHandle first = scope.launch("first", 100, Increment{}, inout(x[0]));
  EXPECT_NE(message_of<Error>([&] { first.priority(1); }).find("in the statement that adds it"),
            std::string::npos);
  EXPECT_THROW(first.work(1), Error);
  {
    const auto open = scope.launch("open", 100, Increment{}, inout(x[0]));
    EXPECT_NO_THROW(open.priority(1).after(first));
    EXPECT_THROW(open.after(open), Error);
    EXPECT_THROW(open.work(0), Error);
    EXPECT_THROW(open.priority(std::numeric_limits<double>::infinity()), Error);
    TaskGraph graph("another");
    EXPECT_THROW(open.after(graph.launch("a", 100, Increment{}, inout(x[1]))), Error);
    scope.launch("next", 100, Increment{}, inout(x[0]));
    EXPECT_THROW(open.priority(1), Error) << "the same thread has added another task";
  }
  EXPECT_EQ(scope.wait().tasks, 3);
}

TEST_F(TaskScopes, SayWhichTaskIsHeldUp) {
  TaskRunOptions options;
  options.watchdog_seconds = 0.02;
  ::testing::internal::CaptureStderr();
  TaskScope scope("held up", on(Threads{}), options);
  {
    const auto open = scope.launch("kept", 100, Increment{}, inout(x[0]));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  scope.wait();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("\"held up\": the task \"kept\" and those after it wait until"), std::string::npos)
      << text;
}

TEST_F(TaskScopes, RefuseTasksThatCannotRun) {
  TaskScope scope("refuses", on(Threads{}));
  const std::string text = message_of<Error>([&] { scope.call("device", OnEmulatedOnly{}, inout(x[0])); });
  EXPECT_NE(text.find("the task \"device\" of \"refuses\" has no version for \"Threads\""), std::string::npos)
      << text;
  EXPECT_THROW(scope.launch("outside", range(0, 101), Increment{}, inout(x[0])), ShapeMismatch);
  EXPECT_THROW(scope.call(
                   "twice", [](const auto&...) {}, inout(x[0]), in(x[0])),
               AccessConflict);
  {
    const auto view = x[0].read();
    const std::string conflict =
        message_of<AccessConflict>([&] { scope.launch("add", 100, Add{}, in(x[1]), inout(x[0])); });
    EXPECT_NE(conflict.find("the scope \"refuses\" is to write"), std::string::npos) << conflict;
    EXPECT_NE(conflict.find("\"x0\""), std::string::npos) << conflict;
    EXPECT_NO_THROW(scope.launch("add", 100, Add{}, in(x[0]), inout(x[1]))) << "both only read";
  }
  EXPECT_NO_THROW(x[1].write()(0) = 7) << "nothing holds it";
  EXPECT_NO_THROW(scope.launch("increment", 100, Increment{}, inout(x[0])));
  EXPECT_EQ(scope.wait().tasks, 2);
  EXPECT_EQ(first(0), 1u);
  const std::string late = message_of<Error>([&] { scope.launch("late", 100, Increment{}, inout(x[0])); });
  EXPECT_NE(late.find("a task is added to \"refuses\" after its wait()"), std::string::npos) << late;
  EXPECT_NE(message_of<Error>([&] { scope.wait(); }).find("a second time"), std::string::npos);
  EXPECT_EQ(first(0), 1u) << "what was refused holds no array";
}

TEST_F(TaskScopes, RefuseTasksThatAreTooLarge) {
  coherent::set_budget(Emulated{0}, 1599);
  TaskScope scope("large", on(Emulated{0}));
  const std::string text =
      message_of<tasks::TaskError>([&] { scope.launch("add", 100, Add{}, in(x[0]), inout(x[1])); });
  EXPECT_NE(text.find("\"add\" of \"large\" needs 1600 bytes at once"), std::string::npos) << text;
  scope.launch("increment", 100, Increment{}, inout(x[0]));
  EXPECT_EQ(scope.wait().tasks, 1);
}

TEST_F(TaskScopes, RefuseOptionsThatMakeNoSense) {
  TaskRunOptions options;
  options.window = 0;
  EXPECT_THROW(TaskScope("none", on(Threads{}), options), Error);
  EXPECT_THROW(TaskScope("twice", across(Emulated{0}, Emulated{0})), Error);
  EXPECT_THROW(TaskScope("unknown", on(Threads{}), "no such scheduler"), tasks::TaskError);
}

TEST_F(TaskScopes, ReportAllThatFailedInTheEnd) {
  for (const int window : {1, 2, 100}) {
    const std::vector<Words> y = new_arrays();
    TaskRunOptions options;
    options.window = window;
    TaskScope scope("fails", across(Emulated{0}, Threads{}), options);
    const TaskHandle bad = scope.call("bad", Throwing{}, inout(y[0]));
    scope.launch("after", 100, Add{}, in(y[0]), inout(y[1]));
    scope.launch("other", 100, Increment{}, inout(y[2]));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // these are over, mostly
    scope.launch("after that", 100, Increment{}, inout(y[1]));
    scope.launch("waits", 100, Increment{}, inout(y[3])).after(bad);
    scope.call("bad, too", Throwing{}, inout(y[3]));
    scope.launch("other", 100, Increment{}, inout(y[2]));
    try {
      scope.wait();
      FAIL() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      EXPECT_EQ(error.failed, (std::vector<std::string>{"bad"})) << error.what();
      EXPECT_EQ(error.dropped, (std::vector<std::string>{"after", "after that", "waits", "bad, too"}))
          << window;
      EXPECT_NE(std::string(error.what()).find("the run of \"fails\""), std::string::npos);
    }
    EXPECT_EQ(Word(y[2](0)), 2u);
    EXPECT_EQ(Word(y[1](0)), 0u);
  }
}

// What a kernel that failed was to write is lost; the thread that had TaskFailed does not have DataLost, too.
TEST_F(TaskScopes, ReportLostArraysOnce) {
  emulated::fail(emulated::Fault::Kernel, 1);
  TaskScope scope("lost", on(Emulated{0}));
  scope.launch("increment", 100, Increment{}, inout(x[0]));
  try {
    scope.wait();
    FAIL() << "nothing was thrown";
  } catch (const TaskFailed& error) {
    EXPECT_EQ(error.failed, std::vector<std::string>{"increment"});
  }
  EXPECT_NO_THROW(launch(on(Emulated{0}), 100, Write{1}, in(x[1]), out(x[0])));
  EXPECT_NO_THROW(static_cast<void>(first(0)));
}

// A device that had less room than it was to have is used with less, but not with too little for tasks that
// come later.
TEST_F(TaskScopes, OutOfMemoryDoesNotShutLaterTasksOut) {
  for (int k = 1; k <= 3; ++k) {
    coherent::set_budget(Emulated{0}, 3 * 800);
    const Words a("a", 100), b("b", 100), c("c", 100);
    emulated::fail(emulated::Fault::Allocation, k);
    TaskScope scope("less", on(Emulated{0}));
    scope.launch("increment", 100, Increment{}, inout(a));
    EXPECT_EQ(Word(a(0)), 1u);  // it is over
    scope.launch("add", 100, Add{}, in(a), inout(b));
    EXPECT_EQ(Word(b(0)), 1u);
    scope.call(
        "three", [](const auto&...) {}, in(a), in(b), inout(c));
    EXPECT_EQ(scope.wait().tasks, 3);
    emulated::clear_faults();
  }
}

TEST_F(TaskScopes, SayOnTheErrorStreamWhatNobodyWaitedFor) {
  const int before = detail::unheard_errors();
  ::testing::internal::CaptureStderr();
  {
    TaskScope scope("left alone", on(Threads{}));
    scope.call("bad", Throwing{}, inout(x[0]));
    scope.launch("other", 100, Increment{}, inout(x[1]));
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("the scope \"left alone\""), std::string::npos) << text;
  EXPECT_NE(text.find("a task failed, \"bad\": no luck"), std::string::npos) << text;
  EXPECT_EQ(detail::unheard_errors(), before + 1);
  EXPECT_EQ(first(1), 1u);
}

struct BadScheduler final : tasks::TaskScheduler {
  void start(const tasks::SchedulerView&) override {}
  void ready(tasks::TaskId, tasks::DeviceId) override {}
  tasks::TaskId assign(tasks::DeviceId) override { return tasks::none; }
  void victims(const tasks::RoomRequest&, std::vector<tasks::ArrayId>&) override {}
};
// A run that cannot go on says so to who adds, and to who waits; arrays are free again.
TEST_F(TaskScopes, WhatEndsTheRunIsThrownByAddingAndByWaiting) {
  TaskRunOptions options;
  options.window = 4;
  options.make_scheduler = [](const tasks::SchedulerOptions&) -> tasks::TaskScheduler* {
    return new BadScheduler;
  };
  TaskScope scope("stuck", on(Threads{}), options);
  const auto add_many = [&] {
    for (int k = 0; k < 1000; ++k) scope.launch("increment", 100, Increment{}, inout(x[0]));
  };
  const std::string text = message_of<tasks::TaskError>(add_many);
  EXPECT_NE(text.find("all devices are idle"), std::string::npos) << text;
  EXPECT_THROW(scope.wait(), tasks::TaskError);
  EXPECT_EQ(first(0), 0u);
}

// Tasks in their order, on device 0; counts in a variable of the program, as each window has a copy.
struct InOrder final : tasks::TaskScheduler {
  explicit InOrder(std::atomic<int>* its_count) : num_assigned(its_count) {}
  void start(const tasks::SchedulerView& view) override { lru.start(view); }
  void loaded(tasks::ArrayId array, tasks::DeviceId device) override { lru.loaded(array, device); }
  void evicted(tasks::ArrayId array, tasks::DeviceId device) override { lru.evicted(array, device); }
  void ready(tasks::TaskId task, tasks::DeviceId) override { waiting.push_back(task); }
  tasks::TaskId assign(tasks::DeviceId) override {
    if (waiting.empty()) return tasks::none;
    const tasks::TaskId task = waiting.front();
    waiting.erase(waiting.begin());
    ++*num_assigned;
    return task;
  }
  void victims(const tasks::RoomRequest& request, std::vector<tasks::ArrayId>& chosen) override {
    lru.victims(request, chosen);
  }

  std::atomic<int>* num_assigned;
  tasks::LruOrder lru;
  std::vector<tasks::TaskId> waiting;
};
TEST_F(TaskScopes, ASchedulerOfOnesOwnIsGivenAsAnObject) {
  std::atomic<int> num_assigned = 0;
  const InOrder scheduler(&num_assigned);
  TaskRunOptions options;
  options.window = 4;
  TaskGraph graph("graph");
  for (int k = 0; k < 10; ++k) graph.launch("increment", 100, Increment{}, inout(x[0]));
  const TaskReport report = graph.run(on(Emulated{0}), scheduler, options);
  EXPECT_EQ(report.scheduler, "one of the program's own");
  EXPECT_EQ(num_assigned, 10);
  graph.run(on(Threads{}), scheduler);
  EXPECT_EQ(num_assigned, 20);

  TaskScope scope("scope", on(Emulated{0}), scheduler, options);
  for (int k = 0; k < 10; ++k) scope.launch("increment", 100, Increment{}, inout(x[0]));
  scope.wait();
  EXPECT_EQ(num_assigned, 30);
  EXPECT_EQ(first(0), 30u);
}

TEST_F(TaskScopes, WhoAddsWaitsWhileTooManyAreAhead) {
  TaskRunOptions options;
  options.window = 10;
  std::atomic<bool> may_end = false;
  std::atomic<int> num_added = 0;
  TaskScope scope("full", on(Threads{}), options);
  std::thread adder([&] {
    scope.call("waits", WaitsFor{&may_end}, inout(x[0]));
    for (int k = 0; k < 100; ++k) {
      scope.launch("increment", 100, Increment{}, inout(x[0]));
      ++num_added;
    }
  });
  while (num_added < 10) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LE(num_added, 20);
  EXPECT_LE(scope.num_kept(), 20u);
  may_end = true;
  adder.join();
  EXPECT_EQ(scope.wait().tasks, 101);
  EXPECT_EQ(first(0), 100u);
  EXPECT_EQ(scope.num_kept(), 0u);
}

// A task that adds more tasks than a window has: it does not wait for room, which only its end gives.
struct Adds {
  TaskScope* scope;
  Words x, y;
  int count;
  void operator()(const Queue<AnyHost>&, const auto&) const {
    for (int k = 0; k < count; ++k) scope->launch("added", 100, Increment{}, inout(k % 2 == 0 ? x : y));
  }
};
TEST_F(TaskScopes, TasksAddTasks) {
  TaskRunOptions options;
  options.window = 8;
  for (const int count : {1, 5, 50}) {
    const std::vector<Words> y = new_arrays();
    TaskScope scope("grows", across(Emulated{0}, Threads{}), options);
    scope.call("reads", Adds{&scope, y[0], y[1], count}, in(y[0]));  // and adds what writes it
    scope.launch("increment", 100, Increment{}, inout(y[0]));
    EXPECT_EQ(scope.wait().tasks, count + 2);
    EXPECT_EQ(Word(y[0](5)) + Word(y[1](5)), static_cast<Word>(count + 1));
  }
}

TEST_F(TaskScopes, SeveralThreadsAddTasks) {
  TaskRunOptions options;
  options.window = 16;
  const std::vector<Words> seen = {Words("seen", 100), Words("seen", 100), Words("seen", 100),
                                   Words("seen", 100)};
  const std::vector<Words> sums = {Words("sum", 100), Words("sum", 100), Words("sum", 100),
                                   Words("sum", 100)};
  TaskScope scope("threads", across(Emulated{0}, Threads{}), options);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t k = 0; k < 100; ++k) {
        scope.launch("own", 100, Increment{}, inout(x[t]));
        scope.launch("contribute", 100, Increment{}, reduce(sums[k % 4]));
        if (k % 10 == 0) scope.launch("read", 100, Write{1}, in(x[(t + 1) % 4]), out(seen[t])).priority(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  scope.wait();
  for (std::size_t t = 0; t < 4; ++t) {
    EXPECT_EQ(Word(x[t](99)), 100u);
    EXPECT_EQ(Word(sums[t](99)), 100u);
  }
}

TEST_F(TaskScopes, ScopesAndGraphsOnOneDeviceTakeTurns) {
  std::optional<TaskScope> one, two;
  one.emplace("one", on(Emulated{0}));
  two.emplace("two", across(Emulated{0}, Emulated{1}));
  TaskGraph graph("graph");
  graph.launch("increment", 100, Increment{}, inout(x[2]));
  graph.launch("shared", 100, Increment{},
               inout(x[3]));  // has to wait for the scopes, which have to for its turn
  for (int k = 0; k < 50; ++k) {
    one->launch("one", 100, Increment{}, inout(x[0]));
    two->launch("two", 100, Increment{}, inout(x[1]));
    one->launch("shared", 100, Increment{}, inout(x[3]));
    two->launch("shared", 100, Increment{}, inout(x[3]));
    if (k % 10 == 0) graph.run(on(Emulated{0}));
  }
  one->wait();
  two->wait();
  EXPECT_EQ(first(0), 50u);
  EXPECT_EQ(first(1), 50u);
  EXPECT_EQ(first(2), 5u);
  EXPECT_EQ(first(3), 105u);
  EXPECT_EQ(detail::DeviceTurns::num_known(), 2u) << "those of the two scopes";
  one.reset();
  two.reset();
  EXPECT_EQ(detail::DeviceTurns::num_known(), 0u);
}

// A contribution needs room for its copy only, the join for the array, too.
TEST_F(TaskScopes, ContributionsThatCannotJoinAreErrors) {
  const Words sum("sum", 100);
  coherent::set_budget(Emulated{0}, 150 * static_cast<index_t>(sizeof(Word)));
  TaskScope scope("s", on(Emulated{0}));
  scope.launch("add", 100, Increment{}, reduce(sum));
  EXPECT_THROW(scope.wait(), tasks::TaskError);
  coherent::set_budget(Emulated{0}, index_t{1} << 40);
}

}  // namespace
