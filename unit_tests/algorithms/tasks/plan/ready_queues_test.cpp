// The Ready rule and the choice of victims of StarPU's schedulers, which are kept up to date by events,
// against the same rules that look at all tasks and arrays for each decision.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/prefetching_scheduler.hpp>

#include "algorithms/tasks/plan/command_interpreter.hpp"
#include "algorithms/tasks/plan/drawn_graphs.hpp"

namespace strata_tests {

namespace {

// Tasks go to devices and get priorities by chance.
class Compared final : public detail::PrefetchingScheduler {
 public:
  explicit Compared(Random& draw) : PrefetchingScheduler({}), draw_(draw) {}

  void ready(TaskId task, DeviceId) override {
    const auto device = static_cast<DeviceId>(draw_(0, view().machine.num_devices() - 1));
    const auto priority = static_cast<double>(draw_(0, 2));
    enqueue(task, device, priority);
    waiting_[static_cast<std::size_t>(device)].push_back({priority, 0, task});
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    std::vector<ArrayId> expected;
    index_t bytes = 0;
    for (const bool is_dirty : {false, true})
      for (const ArrayId array : lru().arrays(request.device)) {
        if (bytes >= request.bytes) break;
        if (!view().memory.is_evictable(array, request.device) ||
            counts_as_dirty(array, request.device) != is_dirty ||
            (request.is_prefetch && is_kept(array, request.device)))
          continue;
        expected.push_back(array);
        bytes += view().graph.array(array).bytes;
      }
    if (request.is_prefetch && bytes < request.bytes) expected.clear();
    PrefetchingScheduler::victims(request, chosen);
    EXPECT_EQ(chosen, expected);
    num_victims_ += chosen.size();
  }
  std::size_t num_choices() const { return num_choices_; }
  std::size_t num_victims() const { return num_victims_; }

 private:
  void begin() override { waiting_.resize(num_devices()); }
  int default_tasks_ahead() const override { return 3; }
  TaskId next(DeviceId device) override {
    std::vector<detail::PriorityEntry>& waiting = waiting_[static_cast<std::size_t>(device)];
    EXPECT_EQ(num_queued(device), waiting.size());
    const detail::PriorityEntry* best = nullptr;
    for (const detail::PriorityEntry& task : waiting)
      if (!best || task.priority > best->priority ||
          (task.priority == best->priority &&
           lacking_bytes(task.task, device) < lacking_bytes(best->task, device)))
        best = &task;
    const TaskId expected = best ? best->task : none;
    const TaskId task = dequeue(device);
    EXPECT_EQ(task, expected);
    std::erase_if(waiting, [&](const detail::PriorityEntry& other) { return other.task == task; });
    if (waiting.size() > 1) ++num_choices_;
    return task;
  }

  Random& draw_;
  std::vector<std::vector<detail::PriorityEntry>> waiting_;  // of devices, in the order in which tasks came
  std::size_t num_choices_ = 0, num_victims_ = 0;
};

TEST(ReadyQueues, GiveWhatALookAtAllTasksGives) {
  Random draw;
  std::size_t num_choices = 0, num_victims = 0;
  for (int k = 0; k < trials(700) && !testing::Test::HasFailure(); ++k) {
    TaskDag graph = drawn_graph(draw);
    if (draw(0, 2) == 0) graph.add_release(static_cast<ArrayId>(draw(0, graph.num_arrays() - 1)), false);
    const Machine machine = drawn_machine(draw, graph, false);
    Compared scheduler(draw);
    CommandInterpreter interpreter(graph, machine, scheduler, draw);
    ASSERT_NO_THROW(interpreter.run());
    EXPECT_EQ(interpreter.host_values(), run_in_order(graph));
    num_choices += scheduler.num_choices();
    num_victims += scheduler.num_victims();
  }
  EXPECT_GT(num_choices, static_cast<std::size_t>(trials(700)));
  EXPECT_GT(num_victims, static_cast<std::size_t>(trials(700) / 4));  // few graphs have most of them
}

// Places of a long queue are given anew as tasks leave.
TEST(ReadyQueues, KeepTheOrderOfTasksThatLackTheSame) {
  detail::ReadyTournament tasks;
  std::vector<int> places(200);
  TaskId next = 0;
  for (TaskId task = 0; task < 200; ++task) {
    if (tasks.is_full())
      tasks.make_room([&](TaskId other, int place) { places[static_cast<std::size_t>(other)] = place; });
    places[static_cast<std::size_t>(task)] = tasks.append(task, {8, 8, 8});
    if (task % 3 == 2) {
      EXPECT_EQ(tasks.first(), next);
      tasks.erase(places[static_cast<std::size_t>(next++)]);
    }
  }
  tasks.set(places[150], {8, 0, 8});
  EXPECT_EQ(tasks.first(), 150);
  tasks.set(places[150], {8, 8, 8});
  for (; !tasks.is_empty(); ++next) {
    EXPECT_EQ(tasks.first(), next);
    tasks.erase(places[static_cast<std::size_t>(next)]);
  }
  EXPECT_EQ(next, 200);
}

}  // namespace

}  // namespace strata_tests
