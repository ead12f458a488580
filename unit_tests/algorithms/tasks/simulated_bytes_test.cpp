// What a run copies is what the simulation of its schedule copies, byte for byte, for random graphs on
// Emulated devices in their virtual time, by every scheduler: with several tasks at a time, prefetches, and
// two devices that send arrays to each other or by way of the host.
//
// Times are those of the simulated machine: rates and numbers of items are powers of two, so that sums of
// them are exact, and what ends at one time in the one ends at one time in the other.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <strata/algorithms/tasks/simulator/simulator.hpp>
#include <strata/views/coherent/whole_copies.hpp>

#include "algorithms/tasks/task_fixture.hpp"

namespace {

using namespace strata_tests;

constexpr double seconds_per_item = 0x1p-24, bytes_per_second = 0x1p30, peer_bytes_per_second = 0x1p32,
                 copy_latency = 0x1p-19;

// Emulated devices of such times, as long as this lives.
class PowersOfTwo {
 public:
  explicit PowersOfTwo(bool has_peers) {
    emulated::Config config = before_;
    config.host_to_device_bandwidth = config.device_to_host_bandwidth = bytes_per_second;
    config.host_link_total = 0;
    config.peer_bandwidth = has_peers ? peer_bytes_per_second : 0;
    config.copy_latency = copy_latency;
    config.launch_latency = config.host_submit_cost = 0;
    config.seconds_per_item = seconds_per_item;
    emulated::configure(config);
  }
  ~PowersOfTwo() { emulated::configure(before_); }

 private:
  const emulated::Config before_ = emulated::config();
};

TaskProgram draw_program(Random& draw) {
  TaskProgram program = TaskProgram::draw(draw, 60, true);
  program.items = index_t{8} << draw(0, 4);
  for (TaskProgram::Step& step : program.steps) {
    step.end = program.items;
    if (step.update == TaskProgram::Step::Update::Reduce) step.update = TaskProgram::Step::Update::Commute;
    if (step.kind == TaskProgram::Step::Kind::Neighbours) step.kind = TaskProgram::Step::Kind::Write;
  }
  return program;
}
// A call launches twice.
bool is_call(const TaskProgram::Step& step) { return step.kind == TaskProgram::Step::Kind::Call; }
std::string label_of(const TaskProgram::Step& step) { return is_call(step) ? "call" : "step"; }
double seconds_of(const TaskProgram& program, bool is_call) {
  return (is_call ? 2 : 1) * static_cast<double>(program.items) * seconds_per_item;
}

// Arrays are numbered in the order of their first uses, as a run has them.
tasks::TaskDag dag_of(const TaskProgram& program) {
  tasks::TaskDag dag;
  const index_t bytes = program.items * index_t{sizeof(Word)};
  std::vector<tasks::ArrayId> ids(program.num_arrays, tasks::none);
  for (const TaskProgram::Step& step : program.steps) {
    std::vector<tasks::TaskAccess> accesses;
    for (const TaskProgram::Use& use : program.uses_of(step)) {
      const AccessMode mode = !use.writes ? AccessMode::In : use.reads ? AccessMode::InOut : AccessMode::Out;
      if (ids[use.array] == tasks::none)
        ids[use.array] = dag.add_array("x" + std::to_string(use.array), bytes);
      accesses.push_back({ids[use.array], mode, use.commutes});
    }
    dag.add_task(label_of(step), label_of(step), 1, accesses);
  }
  return dag;
}

// As the run has it, with tasks that a device runs in turn.
tasks::Machine machine_of(const TaskProgram& program, int num_devices, index_t budget, int queues) {
  std::vector<tasks::MachineDevice> devices;
  std::vector<tasks::Link> links;
  std::vector<tasks::Joint> joints;
  const auto join = [&](int first, int second, const detail::CopyCost& cost) {
    if (!(cost.bytes_per_second > 0)) return;
    links.push_back({"link " + std::to_string(links.size()), cost.bytes_per_second, cost.seconds, true});
    joints.push_back({first, second, static_cast<int>(links.size()) - 1});
  };
  const auto device = [](int k) { return &Emulated{k}.backend(); };
  for (int k = 0; k < num_devices; ++k) {
    devices.push_back({"Emulated{" + std::to_string(k) + "}",
                       budget,
                       {{"step", 1 / seconds_of(program, false)}, {"call", 1 / seconds_of(program, true)}},
                       queues,
                       true});
    join(tasks::host, k, detail::WholeCopies::link(nullptr, device(k)));
    for (int other = 0; other < k; ++other)
      join(other, k, detail::WholeCopies::link(device(other), device(k)));
  }
  EXPECT_EQ(links.front().bytes_per_second, bytes_per_second);
  EXPECT_EQ(links.front().latency, copy_latency);
  return {"emulated", std::move(devices), std::move(links), std::move(joints)};
}

void compare(const std::string& scheduler, Random& draw, bool has_peers) {
  const PowersOfTwo rates(has_peers);
  const TaskProgram program = draw_program(draw);
  const index_t bytes = program.items * index_t{sizeof(Word)}, budget = bytes * draw(3, 8);
  const int num_devices = static_cast<int>(draw(1, 2)), queues = static_cast<int>(draw(1, 4));
  for (int k = 0; k < num_devices; ++k) coherent::set_budget(Emulated{k}, budget);
  tasks::SchedulerOptions scheduler_options;
  scheduler_options.tasks_ahead = static_cast<int>(draw(0, 3));
  TaskCosts costs;
  for (const int arrays : {2, 3})
    for (const bool is_call : {false, true})
      costs.add("Emulated", is_call ? "call" : "step", arrays * bytes, seconds_of(program, is_call));

  const std::vector<Words> arrays = initial_arrays(program);
  TaskGraph graph("random");
  for (const TaskProgram::Step& step : program.steps) add_step(graph, step, arrays, label_of(step)).work(1);
  TaskRunOptions options;
  options.queues = queues;
  options.on_host = options.in_virtual_time = true;
  options.costs = &costs;
  options.make_scheduler = [&](const tasks::SchedulerOptions&) {
    return tasks::make_scheduler(scheduler, scheduler_options).release();
  };
  const double start = emulated::now();
  const TaskReport report = num_devices == 1 ? graph.run(on(Emulated{0}), options)
                                             : graph.run(across(Emulated{0}, Emulated{1}), options);
  const double seconds = emulated::now() - start;

  const tasks::Simulation simulated =
      tasks::simulate(dag_of(program), machine_of(program, num_devices, budget, queues),
                      *tasks::make_scheduler(scheduler, scheduler_options));
  ASSERT_EQ(report.bytes_to_devices, simulated.traffic.to_devices) << scheduler;
  ASSERT_EQ(report.bytes_from_devices, simulated.traffic.from_devices) << scheduler;
  ASSERT_EQ(report.bytes_between_devices, simulated.traffic.between_devices) << scheduler;
  ASSERT_EQ(report.bytes_reloaded, simulated.traffic.reloads) << scheduler;
  ASSERT_NEAR(seconds, simulated.seconds, 1e-12) << scheduler;
  ASSERT_TRUE(has_values(arrays, program.run_in_order())) << scheduler;
}

class SimulatedBytes : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (checked_build) GTEST_SKIP() << "checked builds mark what is to be written, which takes time there";
  }
  void TearDown() override { lift_budgets(); }
  static void compare_many(int count) {
    Random draw;
    for (int trial = 0; trial < count && !HasFatalFailure(); ++trial)
      compare(GetParam(), draw, draw(0, 1) == 0);
  }
};
TEST_P(SimulatedBytes, AreThoseOfTheRun) { compare_many(trials(25)); }
TEST_P(SimulatedBytes, AreThoseOfTheRunSlow) { compare_many(3000); }
INSTANTIATE_TEST_SUITE_P(Schedulers, SimulatedBytes, ::testing::ValuesIn(tasks::scheduler_names()),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::replace(text.begin(), text.end(), '-', '_');
                           return text;
                         });

TEST(VirtualTime, IsThatOfEmulatedDevicesAlone) {
  const Words x("x", 100);
  TaskGraph graph("g");
  graph.launch("increment", 100, Increment{}, inout(x));
  TaskRunOptions options;
  options.in_virtual_time = true;
  const std::string text = message_of<Error>([&] { graph.run(across(Emulated{0}, Threads{}), options); });
  expect_parts(text, {"in_virtual_time", "give Emulated devices alone"});
  EXPECT_NO_THROW(graph.run(on(Emulated{0}), options));
}

}  // namespace
