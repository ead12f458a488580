// Scopes, graphs and threads that wait for each other: none waits for ever, and where all would, one task or
// one thread gets an error that says who waits for what.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include <unistd.h>

#include <strata/algorithms/tasks/task_scope.hpp>
#include <strata/views/coherent/file_array.hpp>

#include "algorithms/tasks/task_fixture.hpp"

namespace {

using namespace strata_tests;

// On a host.
struct Does {
  std::function<void()> what;
  void operator()(const Queue<AnyHost>&, const auto&) const { what(); }
};
void wait_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::sleep_for(std::chrono::microseconds(100));
}
void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

using TaskScopeWaits = TaskTest;

// Each has the array that the other one needs next, until its tasks so far are over.
TEST_F(TaskScopeWaits, ScopesGoOnToEachOthersArrays) {
  for (int trial = 0; trial < 3; ++trial) {
    TaskScope one("one", on(Threads{})), two("two", on(Emulated{0}));
    std::atomic<int> num_adding = 0;
    std::atomic<bool> may_end = false;
    const auto add = [&](TaskScope& scope, std::size_t mine, std::size_t others) {
      scope.launch("mine", 100, Increment{}, inout(x[mine]));
      if (&scope == &one) scope.call("slow", Does{[&] { wait_until(may_end); }}, inout(x[mine]));
      ++num_adding;
      while (num_adding < 2) std::this_thread::yield();
      scope.launch("both", 100, Add{}, in(x[mine]), inout(x[others]));
      scope.launch("reads", 100, Add{}, in(x[2]), inout(x[mine]));
      scope.launch("then writes", 100, Increment{}, inout(x[2]));
    };
    std::thread first([&] { add(one, 0, 1); }), second([&] { add(two, 1, 0); });
    wait_a_little();
    may_end = true;
    first.join();
    second.join();
    EXPECT_EQ(one.wait().tasks, 5);
    EXPECT_EQ(two.wait().tasks, 4);
  }
  EXPECT_EQ(first(2), 6u);
}

// Tasks that add tasks do not wait; the windows with these do, and have arrays for others meanwhile.
TEST_F(TaskScopeWaits, RingsOfScopesEndWithAnError) {
  TaskScope one("one", on(Threads{})), two("two", on(Threads{}));
  std::atomic<bool> may_add = false;
  const auto begin = [&](TaskScope& scope, std::size_t own, std::size_t later) {
    scope.call("adds", Does{[&, later] {
                 wait_until(may_add);
                 scope.launch("added", 100, Increment{}, inout(x[later]));
               }},
               in(x[own]));
    wait_a_little();  // the next window gathers
  };
  begin(one, 2, 1);
  begin(two, 3, 0);
  one.launch("has x0", 100, Increment{}, inout(x[0]));
  two.launch("has x1", 100, Increment{}, inout(x[1]));
  may_add = true;
  int num_failed = 0;
  for (TaskScope* const scope : {&one, &two}) try {
      scope->wait();
    } catch (const TaskFailed& error) {
      ++num_failed;
      EXPECT_EQ(error.failed, std::vector<std::string>{"added"});
      EXPECT_TRUE(error.dropped.empty());
      expect_parts(error.what(), {"the scope \"one\" waits for \"x1\", which the scope \"two\" has",
                                  "the scope \"two\" waits for \"x0\", which the scope \"one\" has",
                                  "Give them arrays of their own"});
    }
  EXPECT_EQ(num_failed, 1);
  EXPECT_EQ(first(0) + first(1), 3u) << "the other one's task has run, and all that had arrays";
}

TEST_F(TaskScopeWaits, RingsOfAScopeAndAGraphEndWithAnError) {
  TaskScope scope("scope", on(Threads{}));
  TaskGraph graph("graph");
  std::atomic<bool> may_add = false;
  graph.launch("has x0", 100, Increment{}, inout(x[0]));
  graph.call("adds", Does{[&] {
               wait_until(may_add);
               graph.launch("added", 100, Increment{}, inout(x[1]));
               graph.launch("depends", 100, Add{}, in(x[1]), inout(x[0]));
               graph.wont_use(x[1]);
             }},
             in(x[2]));
  scope.call("adds", Does{[&] {
               wait_until(may_add);
               scope.launch("added", 100, Increment{}, inout(x[0]));
               scope.wont_use(x[0]);
             }},
             in(x[3]));
  wait_a_little();
  scope.launch("has x1", 100, Increment{}, inout(x[1]));
  std::string errors;
  std::thread thread([&] {
    try {
      graph.run(on(Serial{}));
    } catch (const TaskFailed& error) {
      errors += error.what();
      EXPECT_EQ(error.failed, std::vector<std::string>{"added"});
      EXPECT_EQ(error.dropped, std::vector<std::string>{"depends"});
    }
  });
  wait_a_little();
  may_add = true;
  thread.join();
  try {
    scope.wait();
  } catch (const TaskFailed& error) {
    EXPECT_EQ(errors, "") << "one of the two, not also: " << error.what();
    errors += error.what();
  }
  expect_parts(errors, {"the run of \"graph\" waits for \"x1\", which the scope \"scope\" has",
                        "the scope \"scope\" waits for \"x0\", which the run of \"graph\" has"});
}

// A thread that has a view waits for the scope, a task of which needs the array.
TEST_F(TaskScopeWaits, RingsOverViewsEndWithAnError) {
  for (const bool waits_for_room : {false, true}) {
    TaskRunOptions options;
    options.window = 1;
    TaskScope scope("scope", on(Threads{}), options);
    std::atomic<bool> may_add = false;
    scope.call("adds", Does{[&] {
                 wait_until(may_add);
                 scope.launch("added", 100, Increment{}, inout(x[0]));
               }},
               in(x[1]));
    wait_a_little();
    const auto view = x[0].write();
    may_add = true;
    if (waits_for_room)
      for (int k = 0; k < 3; ++k) scope.launch("increment", 100, Increment{}, inout(x[2]));
    const std::string text = message_of<TaskFailed>([&] { scope.wait(); });
    expect_parts(text, {"\"added\"", "the scope \"scope\" waits for \"x0\", which a host view for writing",
                        waits_for_room ? "a thread waits for room in the scope \"scope\""
                                       : "a thread waits for the scope \"scope\""});
  }
}

// Two threads, each of which has a view, and adds what uses the other's.
TEST_F(TaskScopeWaits, ThreadsWithViewsMayEndInAnErrorOfLaunch) {
  TaskScope one("one", on(Threads{})), two("two", on(Threads{}));
  std::atomic<int> num_views = 0, num_errors = 0;
  const auto add = [&](TaskScope& scope, std::size_t mine, std::size_t others) {
    const auto view = x[mine].write();
    ++num_views;
    while (num_views < 2) std::this_thread::yield();
    try {
      scope.launch("increment", 100, Increment{}, inout(x[others]));
    } catch (const AccessConflict& error) {
      ++num_errors;
      expect_parts(error.what(),
                   {"waits for \"x0\", which a host view", "waits for \"x1\", which a host view"});
    }
  };
  std::thread first([&] { add(one, 0, 1); }), second([&] { add(two, 1, 0); });
  first.join();
  second.join();
  EXPECT_EQ(num_errors, 1);
  EXPECT_EQ(one.wait().tasks + two.wait().tasks, 1);
}

TEST_F(TaskScopeWaits, WaitInATaskOfTheScopeIsAnError) {
  TaskScope scope("scope", on(Threads{}));
  scope.call("waits", Does{[&] { scope.wait(); }}, in(x[0]));
  const std::string text = message_of<TaskFailed>([&] { scope.wait(); });
  expect_parts(text, {"wait() of \"scope\" is called by one of its tasks"});
}

// A task is to another scope as any thread: it waits for room there, and adds nothing after wait().
TEST_F(TaskScopeWaits, TasksOfAnotherScopeWaitForRoom) {
  TaskRunOptions options;
  options.window = 4;
  std::atomic<bool> may_end = false;
  std::atomic<int> num_added = 0;
  TaskScope target("target", on(Threads{}), options), source("source", on(Threads{}));
  target.call("slow", Does{[&] { wait_until(may_end); }}, in(x[0]));
  source.call("adds", Does{[&] {
                for (; num_added < 100; ++num_added)
                  target.launch("increment", 100, Increment{}, inout(x[1]));
              }},
              in(x[2]));
  while (num_added < 4) std::this_thread::yield();
  wait_a_little();
  EXPECT_LE(num_added, 8);
  EXPECT_LE(target.num_kept(), 8u);
  may_end = true;
  EXPECT_EQ(source.wait().tasks, 1);
  EXPECT_EQ(target.wait().tasks, 101);
  EXPECT_EQ(first(1), 100u);

  TaskScope late("late", on(Threads{}));
  late.call("adds", Does{[&] { target.launch("increment", 100, Increment{}, inout(x[1])); }}, in(x[2]));
  const std::string text = message_of<TaskFailed>([&] { late.wait(); });
  expect_parts(text, {"a task is added to \"target\" after its wait()"});
  EXPECT_EQ(first(1), 100u) << "nothing holds it";
}

// Room there would come when tasks are over that need what this task uses: then it goes on without.
TEST_F(TaskScopeWaits, TasksDoNotWaitForRoomThatTheyKeep) {
  TaskRunOptions options;
  options.window = 2;
  TaskScope target("target", on(Threads{}), options), source("source", on(Threads{}));
  source.call("adds", Does{[&] {
                for (int k = 0; k < 12; ++k) target.launch("increment", 100, Increment{}, inout(x[0]));
              }},
              inout(x[0]));
  EXPECT_EQ(source.wait().tasks, 1);
  EXPECT_EQ(target.wait().tasks, 12);
  EXPECT_EQ(first(0), 12u);
}

// A task that is kept by `auto` begins when its thread would wait for it.
TEST_F(TaskScopeWaits, TasksThatAreKeptBeginWhereTheirThreadWaits) {
  TaskRunOptions options;
  options.window = 1;
  TaskScope scope("kept", on(Threads{}), options), other("other", on(Threads{}));
  const auto kept = scope.launch("one", 100, Increment{}, inout(x[0]));
  scope.launch("two", 100, Increment{}, inout(x[1])).after(kept);  // room comes with the end of the first
  const auto again = scope.launch("three", 100, Increment{}, inout(x[0]));
  EXPECT_EQ(first(0), 2u);
  const auto last = scope.launch("four", 100, Increment{}, inout(x[0]));
  other.launch("five", 100, Increment{}, inout(x[0]));
  EXPECT_THROW(last.priority(1), Error) << "it may have begun";
  EXPECT_EQ(other.wait().tasks, 1);
  EXPECT_EQ(scope.wait().tasks, 4);
  EXPECT_EQ(first(0), 4u);
}

// Though another thread keeps adding tasks, so that there is no moment without one.
TEST_F(TaskScopeWaits, ContributionsJoinWhileTasksKeepComing) {
  TaskRunOptions options;
  options.window = 500;
  TaskScope scope("busy", across(Emulated{0}, Threads{}), options);
  std::atomic<bool> may_end = false;
  std::atomic<int> num_added = 0;
  std::thread adds([&] {
    for (; !may_end; ++num_added) scope.launch("increment", 100, Increment{}, inout(x[1]));
  });
  while (num_added < 1000) std::this_thread::yield();
  for (Word round = 1; round <= 3; ++round) {
    for (int k = 0; k < 5; ++k) scope.launch("contribute", 100, Increment{}, reduce(x[0]));
    EXPECT_EQ(first(0), 5 * round);
  }
  EXPECT_FALSE(may_end);
  may_end = true;
  adds.join();
  scope.wait();
  EXPECT_EQ(first(1), static_cast<Word>(num_added));
}

// While it is asked for, another thread adds tasks again and again, of which there are always some.
TEST_F(TaskScopeWaits, ViewsHaveTheirTurnWhereTasksKeepComing) {
  constexpr int most = 2000;  // that last for seconds
  TaskRunOptions options;
  options.window = 4;
  TaskScope scope("keeps coming", on(Threads{}), options);
  std::atomic<int> num_added = 0;
  std::atomic<bool> has_view = false;
  std::thread adds([&] {
    for (; num_added < most && !has_view; ++num_added) {
      scope.launch("update", 100, Increment{}, inout(x[0]));
      scope.call("slow", Does{[] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }},
                 inout(x[0]));
    }
  });
  while (num_added < 3) std::this_thread::yield();
  const Word before = static_cast<Word>(num_added);

  const Word seen = first(0);

  const int at_most = num_added;
  has_view = true;
  adds.join();
  EXPECT_LT(at_most, most / 2);
  EXPECT_GE(seen, before);
  EXPECT_LE(seen, static_cast<Word>(at_most) + 1);
  EXPECT_EQ(scope.wait().tasks, 2 * num_added);
}

// The same of runs, one after the other.
TEST_F(TaskScopeWaits, ViewsHaveTheirTurnBetweenRuns) {
  constexpr int most = 2000;
  TaskGraph graph("again");
  graph.call("slow", Does{[] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }}, inout(x[0]));
  std::atomic<int> num_runs = 0;
  std::atomic<bool> has_view = false;
  std::thread runs([&] {
    for (; num_runs < most && !has_view; ++num_runs) graph.run(on(Threads{}));
  });
  while (num_runs < 3) std::this_thread::yield();
  const int before = num_runs;

  first(0);

  const int at_most = num_runs;
  has_view = true;
  runs.join();
  EXPECT_LT(at_most - before, most / 2);
}

// For a use that waits for a view of the thread that adds, this one does not wait: the view would never end.
TEST_F(TaskScopeWaits, WhoHasWhatOthersWaitForGoesOnOutOfTurn) {
  TaskScope scope("reads", on(Threads{}));
  std::thread writes;
  {
    const auto view = x[0].read();
    scope.call("slow", Does{[] { wait_a_little(); }}, in(x[0]));
    writes = std::thread([&] { x[0].write()(0) = 7; });
    wait_a_little();

    scope.launch("reads", 100, Add{}, in(x[0]), inout(x[1]));
  }
  writes.join();
  scope.wait();

  EXPECT_EQ(first(0), 7u);
}

// Who waits for the turn adds a task, which wait() waits for: the tasks before it run all the same.
TEST_F(TaskScopeWaits, WaitEndsWhereAThreadWaitsForItsTurn) {
  TaskScope scope("ends", on(Threads{}));
  scope.call("long", Does{[] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); }}, inout(x[1]));
  wait_a_little();  // it runs; what comes is of the next window
  scope.launch("update", 100, Increment{}, inout(x[0]));
  Word seen = 0;
  std::thread looks([&] { seen = first(0); });
  wait_a_little();
  bool was_added = false;
  std::thread adds([&] {
    try {
      scope.launch("update", 100, Increment{}, inout(x[0]));
      was_added = true;
    } catch (const Error&) {  // after wait()
    }
  });
  wait_a_little();

  const long num_tasks = scope.wait().tasks;

  looks.join();
  adds.join();
  EXPECT_EQ(num_tasks, was_added ? 3 : 2);
  EXPECT_GE(seen, 1u);
}

// What was refused holds nothing, and is reserved by nobody later.
TEST_F(TaskScopeWaits, RefusedTasksKeepNoArrays) {
  TaskScope scope("refuses", on(Threads{}));
  const Words none;
  EXPECT_THROW(scope.launch("none", 100, Add{}, in(none), inout(x[0])), Error);
  EXPECT_THROW(scope.launch("none", 100, Increment{}, reduce(none)), Error);
  EXPECT_THROW(scope.wont_use(none), Error);
  TaskGraph graph("graph");
  EXPECT_THROW(graph.launch("none", 100, Add{}, in(none), inout(x[0])), Error);
  EXPECT_NO_THROW(x[0].write()(0) = 7);

  std::atomic<bool> has_tried = false, may_end = false;
  scope.call("adds", Does{[&] {
               EXPECT_THROW(scope.launch("none", 100, Add{}, in(none), inout(x[0])), Error);
               EXPECT_THROW(scope.launch("outside", range(0, 101), Increment{}, inout(x[0])), ShapeMismatch);
               has_tried = true;
               wait_until(may_end);
             }},
             in(x[1]));
  scope.launch("next", 100, Increment{}, inout(x[2]));  // in a later window, which reserves what was added
  wait_until(has_tried);
  {
    const auto view = x[0].write();
    may_end = true;
    EXPECT_EQ(first(2), 1u) << "that window does not wait for the view";
  }
  EXPECT_EQ(scope.wait().tasks, 2);
}

// An array in a file that tasks have added, and that cannot be used so: these tasks fail, and no others.
TEST_F(TaskScopeWaits, BadFilesOfAddedTasksFailTheirTasks) {
  const std::string path = ::testing::TempDir() + "task_scope_waits_test";
  { const auto written = file_array<Word, rank<1>>(path, 10000, overwrite); }
  {
    const Words for_reading_only = open_file_array<Word, rank<1>>(path, for_reading);
    TaskScope scope("scope", on(Threads{}));
    scope.call("adds", Does{[&] { scope.launch("bad", 10000, Increment{}, inout(for_reading_only)); }},
               in(x[0]));
    scope.launch("other", 100, Increment{}, inout(x[1]));
    const std::string text = message_of<TaskFailed>([&] { scope.wait(); });
    expect_parts(text, {"a task failed, \"adds\"", path, "1 other task is done"});
  }
  const auto size = static_cast<off_t>(4096 + 10000 * sizeof(Word));
  for (const bool is_graph : {false, true}) {
    const Words file = open_file_array<Word, rank<1>>(path);
    // It is right when the task is added, and too short when its window begins.
    const auto add = [&](auto& tasks) {
      tasks.call("adds", Does{[&] {
                   tasks.launch("bad", 10000, Increment{}, inout(file));
                   tasks.launch("depends", 100, Add{}, in(file, fixed(Box({0}, {100}))), inout(x[2]));
                   tasks.discard(file);
                   tasks.launch("other", 100, Increment{}, inout(x[1]));
                   ASSERT_EQ(truncate(path.c_str(), 4096), 0);
                 }},
                 in(x[0]));
    };
    std::vector<std::string> failed, dropped;
    try {
      if (is_graph) {
        TaskGraph graph("graph");
        add(graph);
        graph.run(on(Threads{}));
      } else {
        TaskScope scope("scope", on(Threads{}));
        add(scope);
        scope.wait();
      }
      ADD_FAILURE() << "nothing was thrown";
    } catch (const TaskFailed& error) {
      failed = error.failed;
      dropped = error.dropped;
      expect_parts(error.what(), {path});
    }
    EXPECT_EQ(failed, std::vector<std::string>{"bad"});
    EXPECT_EQ(dropped, std::vector<std::string>{"depends"});
    EXPECT_EQ(truncate(path.c_str(), size), 0);
  }
  EXPECT_EQ(first(1), 3u);
  std::remove(path.c_str());
}

}  // namespace
