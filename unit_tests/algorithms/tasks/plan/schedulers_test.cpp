// All schedulers over graphs and machines drawn at random, their commands carried out in any order; and
// schedulers that do what they may not.
#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include <strata/algorithms/tasks/plan/schedulers.hpp>

#include "algorithms/tasks/plan/command_interpreter.hpp"
#include "messages.hpp"

namespace strata_tests {

namespace {

using strata::AccessMode;

TaskGraph drawn_graph(Random& draw) {
  TaskGraph graph;
  const index_t arrays = draw(1, 12), tasks = draw(0, 40);
  for (index_t k = 0; k < arrays; ++k) graph.add_array("a" + std::to_string(k), draw(1, 8));
  for (index_t k = 0; k < tasks; ++k) {
    std::vector<TaskAccess> accesses;
    const index_t count = draw(0, 4);
    for (index_t j = 0; j < count; ++j)
      accesses.push_back({static_cast<ArrayId>(draw(0, arrays - 1)), static_cast<AccessMode>(draw(0, 2))});
    graph.add_task("t" + std::to_string(k), "k" + std::to_string(draw(0, 2)), static_cast<double>(draw(0, 5)),
                   accesses);
  }
  for (index_t k = 0; tasks > 1 && k < draw(0, 3); ++k) {
    const index_t before = draw(0, tasks - 2);
    graph.add_dependency(static_cast<TaskId>(before), static_cast<TaskId>(draw(before + 1, tasks - 1)));
  }
  return graph;
}

// Memories from exactly what the largest task needs on.
Machine drawn_machine(Random& draw, const TaskGraph& graph) {
  index_t least = 1;
  for (TaskId task = 0; task < graph.num_tasks(); ++task) least = std::max(least, graph.bytes_of(task));
  std::vector<MachineDevice> devices;
  std::vector<Link> links;
  std::vector<Joint> joints;
  const auto join = [&](DeviceId first, DeviceId second) {
    links.push_back({"link", static_cast<double>(draw(1, 9)), 0.1, draw(0, 1) == 1});
    joints.push_back({first, second, static_cast<int>(links.size()) - 1});
  };
  for (DeviceId device = 0, count = static_cast<DeviceId>(draw(1, 4)); device < count; ++device) {
    devices.push_back({"d" + std::to_string(device),
                       least + (draw(0, 2) == 0 ? 0 : draw(0, 20)),
                       {{"*", static_cast<double>(draw(1, 3))}}});
    join(host, device);
    for (DeviceId other = 0; other < device; ++other)
      if (draw(0, 1) == 1) join(other, device);
  }
  return Machine("drawn", devices, links, joints);
}

// Decides by chance whatever it may.
class DrawnScheduler final : public TaskScheduler {
 public:
  explicit DrawnScheduler(Random& draw) : draw_(draw) {}
  void start(const SchedulerView& view) override { view_.emplace(view); }
  void ready(TaskId task, DeviceId) override { ready_.push_back(task); }
  void done(TaskId, DeviceId) override { --num_assigned_; }
  int window(DeviceId) const override { return 5; }
  TaskId assign(DeviceId) override {
    if (ready_.empty() || (num_assigned_ > 0 && draw_(0, 1) == 0)) return none;
    ++num_assigned_;
    const auto at = ready_.begin() + draw_(0, static_cast<index_t>(ready_.size()) - 1);
    const TaskId task = *at;
    ready_.erase(at);
    return task;
  }
  ArrayId prefetch(DeviceId device) override {
    const ArrayId array = static_cast<ArrayId>(draw_(0, view_->graph.num_arrays() - 1));
    return draw_(0, 1) == 0 || view_->memory.holds(array, device) ||
                   view_->graph.array(array).bytes > view_->memory.capacity(device)
               ? none
               : array;
  }
  void victims(const RoomRequest& request, std::vector<ArrayId>& chosen) override {
    if (request.is_prefetch && draw_(0, 1) == 0) return;
    index_t bytes = 0;
    const index_t count = view_->graph.num_arrays(), first = draw_(0, count - 1);
    for (index_t k = 0; k < count && bytes < request.bytes; ++k) {
      const ArrayId array = static_cast<ArrayId>((first + k) % count);
      if (!view_->memory.is_evictable(array, request.device)) continue;
      chosen.push_back(array);
      bytes += view_->graph.array(array).bytes;
    }
  }

 private:
  Random& draw_;
  std::optional<SchedulerView> view_;
  std::vector<TaskId> ready_;
  int num_assigned_ = 0;
};

void check(const TaskGraph& graph, const Machine& machine, TaskScheduler& scheduler, Random& draw) {
  CommandInterpreter interpreter(graph, machine, scheduler, draw);
  ASSERT_NO_THROW(interpreter.run());
  ASSERT_EQ(interpreter.host_values(), run_in_order(graph));
  ASSERT_EQ(interpreter.driver().order().size(), static_cast<std::size_t>(graph.num_tasks()));
}

void check_drawn(int count) {
  Random draw;
  const std::vector<std::string> names = scheduler_names();
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k) {
    const TaskGraph graph = drawn_graph(draw);
    const Machine machine = drawn_machine(draw, graph);
    const std::size_t which = static_cast<std::size_t>(k) % (names.size() + 1);
    SCOPED_TRACE((which < names.size() ? names[which] : "drawn") + ", trial " + std::to_string(k));
    if (which < names.size()) check(graph, machine, *make_scheduler(names[which]), draw);
    else {
      DrawnScheduler scheduler(draw);
      check(graph, machine, scheduler, draw);
    }
  }
}

TEST(Schedulers, EveryOrderOfTheirCommandsComputesWhatTheProgramDoes) { check_drawn(trials(3000)); }
TEST(SchedulersSlow, EveryOrderOfTheirCommandsComputesWhatTheProgramDoes) { check_drawn(trials(100000)); }

TEST(Schedulers, UnknownNamesAreListed) {
  EXPECT_NE(
      message_of<TaskError>([] { make_scheduler("fifo"); }).find("there are eager, eager-prefetch, lws"),
      std::string::npos);
}

TEST(Schedulers, PrioritiesAreThoseOfAllTasks) {
  TaskGraph graph;
  graph.add_task("t", "k", 1, {});
  const Machine machine("m", {{"d", 8, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}});
  const auto scheduler = make_scheduler("dmdas", {{1, 2}, 0});
  TaskDriver driver(graph, machine, *scheduler);
  EXPECT_THROW(driver.start(), TaskError);
}

// Two arrays of 8 bytes, a memory of 8: a task for each, and one that waits for the first.
class WrongSchedulers : public testing::Test {
 protected:
  // Decides by the functions that it is given.
  struct Scripted : TaskScheduler {
    std::function<TaskId()> on_assign;
    std::function<void(std::vector<ArrayId>&)> on_victims;
    std::vector<TaskId> is_ready;
    void start(const SchedulerView&) override {}
    void ready(TaskId task, DeviceId) override { is_ready.push_back(task); }
    TaskId assign(DeviceId) override { return on_assign(); }
    void victims(const RoomRequest&, std::vector<ArrayId>& chosen) override {
      if (on_victims) on_victims(chosen);
    }
    TaskId next() {
      if (is_ready.empty()) return none;
      const TaskId task = is_ready.front();
      is_ready.erase(is_ready.begin());
      return task;
    }
  };
  WrongSchedulers() {
    const ArrayId a = graph_.add_array("a", 8), b = graph_.add_array("b", 8);
    graph_.add_task("first", "k", 1, {{a, AccessMode::InOut}});
    graph_.add_task("second", "k", 1, {{a, AccessMode::In}});
    graph_.add_task("other", "k", 1, {{b, AccessMode::InOut}});
  }
  std::string message(Scripted& scheduler) {
    return message_of<TaskError>([&] { CommandInterpreter(graph_, machine_, scheduler, draw_).run(); });
  }

  TaskGraph graph_;
  Machine machine_{"m", {{"gpu", 8, {{"*", 1}}}}, {{"bus", 1, 0, false}}, {{host, 0, 0}}};
  Random draw_;
};

TEST_F(WrongSchedulers, OneThatNeverAssignsIsStoppedWithTheTasksThatWait) {
  Scripted scheduler;
  scheduler.on_assign = [] { return none; };
  EXPECT_EQ(message(scheduler),
            "the run stands still after 0 of 3 tasks; all devices are idle, and 2 tasks are ready: first of "
            "a; other of b. "
            "assign() has to return each task that ready() named");
}

TEST_F(WrongSchedulers, OneThatAssignsTwiceIsStopped) {
  Scripted scheduler;
  scheduler.on_assign = [] { return 0; };
  EXPECT_NE(message(scheduler).find("assigns first of a a second time"), std::string::npos);
}

TEST_F(WrongSchedulers, OneThatAssignsTooEarlyIsStopped) {
  Scripted scheduler;
  scheduler.on_assign = [] { return 1; };
  EXPECT_NE(message(scheduler).find("assigns second of a before first of a is done"), std::string::npos);
  scheduler.on_assign = [] { return 7; };
  EXPECT_NE(message(scheduler).find("task number 7"), std::string::npos);
}

TEST_F(WrongSchedulers, OneWithoutVictimsIsStoppedWithTheArraysThatHaveNoRoom) {
  Scripted scheduler;
  scheduler.on_assign = [&] { return scheduler.next(); };
  const std::string text = message(scheduler);
  EXPECT_NE(
      text.find(
          "the device \"gpu\" has no room for b, which the task other of b needs: victims() has to name 8 B"),
      std::string::npos)
      << text;
}

TEST_F(WrongSchedulers, VictimsThatAreNotThereAreAnError) {
  Scripted scheduler;
  scheduler.on_assign = [&] { return scheduler.next(); };
  scheduler.on_victims = [](std::vector<ArrayId>& chosen) { chosen.push_back(1); };
  EXPECT_NE(message(scheduler).find("names as a victim on the device \"gpu\" b, which is not there"),
            std::string::npos);
}

}  // namespace

}  // namespace strata_tests
