// What a run copies is what the simulation of its schedule copies, for random graphs on one device.
//
// Which command ends first is not the same in both where several are under way, and schedulers may decide by
// it; so a device has one task at a time here, and the schedulers are those that load for this task alone:
// with prefetches, what leaves for them depends on whether the task or the copy ends first.
#include <strata/algorithms/tasks/simulator/simulator.hpp>

#include "algorithms/tasks/task_programs.hpp"

namespace {

using namespace strata_tests;

constexpr double rate = 1e9;

tasks::TaskDag plan_of(const TaskProgram& program) {
  tasks::TaskDag graph;
  const index_t bytes = program.items * index_t{sizeof(Word)};
  for (std::size_t a = 0; a < program.num_arrays; ++a) graph.add_array("x" + std::to_string(a), bytes);
  for (const TaskProgram::Step& step : program.steps) {
    std::vector<tasks::TaskAccess> accesses;
    for (const TaskProgram::Use& use : program.uses_of(step)) {
      const AccessMode mode = !use.writes ? AccessMode::In : use.reads ? AccessMode::InOut : AccessMode::Out;
      accesses.push_back({static_cast<tasks::ArrayId>(use.array), mode, use.commutes});
    }
    graph.add_task("step", "step", static_cast<double>(bytes) * static_cast<double>(accesses.size()),
                   accesses);
  }
  return graph;
}

void compare(const std::string& scheduler, int count) {
  Random draw;
  tasks::SchedulerOptions one_at_a_time;
  one_at_a_time.tasks_ahead = 1;
  for (int trial = 0; trial < count; ++trial) {
    TaskProgram program = TaskProgram::draw(draw, 60, true);
    for (TaskProgram::Step& step : program.steps) {
      if (step.update == TaskProgram::Step::Update::Reduce) step.update = TaskProgram::Step::Update::Commute;
      if (step.kind == TaskProgram::Step::Kind::Neighbours) step.kind = TaskProgram::Step::Kind::Write;
    }
    const std::vector<Words> arrays = initial_arrays(program);
    const index_t budget = program.items * index_t{sizeof(Word)} * draw(3, 8);
    coherent::set_budget(Emulated{0}, budget);
    TaskGraph graph("random");
    for (const TaskProgram::Step& step : program.steps) add_step(graph, step, arrays, "step");
    TaskRunOptions options;
    options.queues = 1;
    options.on_host = true;
    options.make_scheduler = [&](const tasks::SchedulerOptions&) -> tasks::TaskScheduler* {
      return tasks::make_scheduler(scheduler, one_at_a_time).release();
    };
    const TaskReport report = graph.run(on(Emulated{0}), options);

    const tasks::Machine machine("emulated", {{"Emulated{0}", budget, {{"*", rate}}, 1}},
                                 {{"link", 1e9, 1e-6, true}}, {{tasks::host, 0, 0}});
    const tasks::Simulation simulated =
        tasks::simulate(plan_of(program), machine, *tasks::make_scheduler(scheduler, one_at_a_time));
    ASSERT_EQ(report.bytes_to_devices, simulated.traffic.to_devices) << scheduler << " " << trial;
    ASSERT_EQ(report.bytes_from_devices, simulated.traffic.from_devices) << scheduler << " " << trial;
    ASSERT_EQ(report.bytes_reloaded, simulated.traffic.reloads) << scheduler << " " << trial;
    ASSERT_TRUE(has_values(arrays, program.run_in_order()));
  }
  coherent::set_budget(Emulated{0}, index_t{1} << 40);
}

class SimulatedBytes : public ::testing::TestWithParam<const char*> {};
TEST_P(SimulatedBytes, AreThoseOfTheRun) { compare(GetParam(), trials(40)); }
TEST_P(SimulatedBytes, AreThoseOfTheRunSlow) { compare(GetParam(), 5000); }
INSTANTIATE_TEST_SUITE_P(Schedulers, SimulatedBytes, ::testing::Values("eager", "lws", "lfq", "ap"));

}  // namespace
