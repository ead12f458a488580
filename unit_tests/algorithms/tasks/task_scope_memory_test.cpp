// What a scope remembers: no more than its window asks for, however many tasks it has had.
// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include <strata/algorithms/tasks/task_scope.hpp>
#include <strata/views/coherent/whole_copies.hpp>

#include "algorithms/tasks/task_fixture.hpp"

namespace {

using namespace strata_tests;

using TaskScopeMemory = TaskTest;

TEST_F(TaskScopeMemory, ArraysGoWithTheirTasks) {
  TaskRunOptions options;
  options.window = 20;
  TaskScope scope("temporaries", on(Emulated{0}), options);
  for (int k = 0; k < 500; ++k) {
    const Words temporary("temporary", 100);
    scope.launch("fill", 100, Write{static_cast<Word>(k)}, in(x[0]), out(temporary));
    scope.launch("add", 100, Add{}, in(temporary), inout(x[1]));
    scope.discard(temporary);
  }
  const TaskReport report = scope.wait();
  EXPECT_EQ(report.tasks, 1000);
  EXPECT_EQ(report.bytes_from_devices, 0) << "what is discarded goes nowhere";
  EXPECT_LE(coherent::resident_bytes(Emulated{0}), 2 * 800) << "that of what is left";
}

TEST_F(TaskScopeMemory, LeaveValuesOnTheHostIfAsked) {
  TaskRunOptions options;
  options.on_host = true;
  options.window = 2;
  TaskScope scope("host", on(Emulated{0}), options);
  for (std::size_t k = 0; k < 4; ++k) scope.launch("increment", 100, Increment{}, inout(x[k]));
  scope.wait();
  for (const Words& array : x) EXPECT_FALSE(detail::WholeCopies::host_lacks(*array.state())) << array.label();
}

// 10^6 tasks: the window bounds what is kept, and ten times as many take ten times as long.
double run_many(const std::vector<Words>& x, int count, int window, std::size_t& most_kept) {
  TaskRunOptions options;
  options.window = window;
  const auto start = std::chrono::steady_clock::now();
  TaskScope scope("many", on(Emulated{0}), options);
  for (int k = 0; k < count; ++k) {
    const std::size_t a = static_cast<std::size_t>(k) % x.size();
    scope.call(
        "nothing", [](const auto&...) {}, in(x[a]), in(x[(a + 1) % x.size()]), inout(x[(a + 2) % x.size()]));
    if (k % 64 == 0) most_kept = std::max(most_kept, scope.num_kept());
  }
  EXPECT_EQ(scope.wait().tasks, count);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
TEST_F(TaskScopeMemory, KeepNoMoreThanTwoWindows) {
  std::size_t most_kept = 0;
  run_many(x, 20000, 500, most_kept);
  EXPECT_LE(most_kept, 1000u);
  EXPECT_GT(most_kept, 0u);
}
TEST_F(TaskScopeMemory, TakeTimeThatIsLinearSlow) {
  std::size_t most_kept = 0;
  std::size_t kept_of_few = 0;
  const double short_run = run_many(x, 100'000, 10'000, kept_of_few);
  const std::size_t before = allocation_totals().count;
  const double long_run = run_many(x, 1'000'000, 10'000, most_kept);
  EXPECT_LE(most_kept, 20'000u);
  EXPECT_GT(kept_of_few, 0u);
  EXPECT_EQ(allocation_totals().count, before) << "nothing of it stays";
  EXPECT_LT(long_run, 15 * short_run) << "a task of ten times as many takes at most half as long again";
}

// Arrays that the host is to have in the end go there, and are given up, when they have not been used for
// long.
TEST_F(TaskScopeMemory, IsBoundedWhereTheHostGetsAllValues) {
  TaskRunOptions options;
  options.on_host = true;
  options.window = 20;
  const std::size_t before = allocation_totals().count;
  std::size_t most = 0;
  TaskScope scope("temporaries", across(Emulated{0}, Threads{}), options);
  const Words early("early", 100);
  scope.launch("early", 100, Increment{}, inout(early));
  for (Word k = 0; k < 5000; ++k) {
    const Words temporary("temporary", 100);
    scope.launch("fill", 100, Write{k}, in(x[0]), out(temporary));
    scope.launch("add", 100, Add{}, in(temporary), inout(x[1]));
    if (k % 16 == 0) most = std::max(most, allocation_totals().count - before);
  }
  scope.wait();
  EXPECT_LT(most, 2500u) << "of the host and of the device, of 5000 arrays";
  EXPECT_FALSE(detail::WholeCopies::host_lacks(*early.state()));
  EXPECT_FALSE(detail::WholeCopies::host_lacks(*x[1].state()));
  Word sum = 0;
  for (Word k = 0; k < 5000; ++k) sum += hash(k, 0);
  EXPECT_EQ(first(1), sum);
}

// The report names the first ones, and says how many there were; handles know it of any.
TEST_F(TaskScopeMemory, IsBoundedWhereAllTasksFail) {
  constexpr int count = 3000;
  TaskRunOptions options;
  options.window = 20;
  const std::size_t before = allocation_totals().count;
  std::size_t most = 0;
  TaskScope scope("fails", on(Threads{}), options);
  const TaskHandle right = scope.launch("right", 100, Increment{}, inout(x[0]));
  const TaskHandle wrong = scope.call("bad", Throwing{}, inout(x[1]));
  for (int k = 1; k < count; ++k) {
    const Words temporary("temporary", 100);
    scope.call("bad", Throwing{}, inout(temporary));
    scope.launch("depends", 100, Add{}, in(temporary), inout(x[2]));
    most = std::max(most, allocation_totals().count - before);
  }
  scope.launch("waits", 100, Increment{}, inout(x[3])).after(right);
  scope.launch("waits in vain", 100, Increment{}, inout(x[3])).after(wrong);
  try {
    scope.wait();
    FAIL() << "nothing was thrown";
  } catch (const TaskFailed& error) {
    EXPECT_EQ(error.num_failed, count);
    EXPECT_EQ(error.num_dropped, count);
    EXPECT_EQ(error.failed, std::vector<std::string>(1000, "bad"));
    EXPECT_EQ(error.dropped, std::vector<std::string>(1000, "depends"));
    expect_parts(error.what(), {"3000 tasks failed, \"bad\"", "and 2992 more: no luck",
                                "3000 tasks that depend on this did not run", "2 other tasks are done"});
  }
  EXPECT_LT(most, 1500u) << "of 3000 arrays";
  EXPECT_EQ(first(0), 1u);
  EXPECT_EQ(first(3), 1u);
}

}  // namespace
