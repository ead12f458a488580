// Graphs of tasks on devices: random programs at random places under random budgets, by every scheduler, give
// what they give one task after the other.
#include "algorithms/tasks/task_programs.hpp"

namespace {

using namespace strata_tests;

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

// One program, run twice.
template <class D>
void run_random_program(Random& draw, int most_tasks) {
  const TaskProgram program = TaskProgram::draw(draw, most_tasks, draw(0, 1) == 0);
  const std::vector<Words> arrays = initial_arrays(program);
  TaskGraph graph("random");
  std::vector<TaskHandle> handles;
  for (const TaskProgram::Step& step : program.steps) {
    if (draw(0, 9) == 0)
      graph.wont_use(arrays[static_cast<std::size_t>(draw(0, static_cast<index_t>(arrays.size()) - 1))]);
    handles.push_back(add_step(graph, step, arrays, "step " + std::to_string(handles.size())));
    if (draw(0, 5) == 0) handles.back().priority(static_cast<double>(draw(-3, 3)));
    if (draw(0, 5) == 0) handles.back().work(static_cast<double>(draw(1, 1000)));
    if (handles.size() > 1 && draw(0, 5) == 0)
      handles.back().after(
          handles[static_cast<std::size_t>(draw(0, static_cast<index_t>(handles.size()) - 2))]);
  }
  // From the largest task, which uses three arrays, upwards.
  const index_t budget = program.items * static_cast<index_t>(sizeof(Word)) * draw(3, 12);
  for (int k = 0; k < Emulated::count(); ++k) coherent::set_budget(Emulated{k}, budget);
  if constexpr (has_budget<D>)
    for (int k = 0; k < D::count(); ++k) coherent::set_budget(D(k), budget);
  TaskRunOptions options = random_options(draw, static_cast<int>(program.steps.size()));
  TaskCosts costs;
  if (draw(0, 3) == 0) options.costs = &costs;
  TaskReport report;
  ASSERT_NO_THROW(report = run_somewhere<D>(graph, draw, options)) << options.scheduler;
  ASSERT_EQ(report.tasks, graph.size()) << options.scheduler;
  if (draw(0, 1) == 0) {
    ASSERT_TRUE(has_values(arrays, program.run_in_order())) << options.scheduler;
  }
  TaskProgram twice = program;
  twice.steps.insert(twice.steps.end(), program.steps.begin(), program.steps.end());
  run_somewhere<D>(graph, draw, random_options(draw, static_cast<int>(program.steps.size())));
  ASSERT_TRUE(has_values(arrays, twice.run_in_order())) << options.scheduler;
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

}  // namespace
