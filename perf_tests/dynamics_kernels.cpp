// Is every kernel of strata-dynamics as fast as memory and as one by hand, and what does a whole time step
// take? The three element functors of the Kokkos Array paper, the one that does the work of all three, the
// least time step and the node functor over a box, and steps made of them; on a GPU as graphs. Small boxes,
// where latencies count, are timed in microseconds, a graph being of 16 pieces of work; larger ones of 4.
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>

#include "common/contest.hpp"
#include "common/dynamics_problem.hpp"
#include "kokkos/miniapp_cases.hpp"

namespace {

using namespace perf;
using strata::index_t;

struct NamedWork {
  DynamicsWork work;
  const char* name;
};
constexpr NamedWork all_work[] = {
    {DynamicsWork::Gradient, "gradient"},
    {DynamicsWork::Rotation, "rotation"},
    {DynamicsWork::Force, "force"},
    {DynamicsWork::Fused, "fused"},
    {DynamicsWork::LeastStep, "least step"},
    {DynamicsWork::Nodes, "nodes"},
    {DynamicsWork::StepOfThree, "step of three element kernels"},
    {DynamicsWork::StepOfFused, "step of one element kernel"},
};
constexpr index_t few_elements = 100000;  // latencies count, not bytes

template <class D>
std::function<void()> repeated(const std::function<void()>& launch, const strata::Queue<D>& queue,
                               int times) {
  const auto all = [=] {
    for (int k = 0; k < times; ++k) launch();
  };
  if constexpr (is_gpu<D>) {
    const auto graph = strata::record(queue, all);
    return [=] {
      graph.launch(queue);
      queue.wait();
    };
  } else {
    return all;
  }
}

// Steps a second, of which the contest gives the bytes.
template <class D>
void add_rate(const Options& options, Report& report, const char* type, const std::string& name, index_t n,
              int times, const std::function<void()>& run) {
  Race race;
  const int entry = race.add(run);
  race.run(options.reps_or(20), 1.0);
  Statistics time = race[entry];
  for (double* seconds : {&time.median, &time.min, &time.p90}) *seconds /= times;
  report.add({name + ", rate", D::name, n, type, time, static_cast<double>(n) / time.median,
              "element-steps/s", none, none});
}

template <class T, class D>
void one_size(const Options& options, Report& report, const char* type, index_t elements) {
  DynamicsProblem<T, D> problem(elements);
  const index_t n = problem.elements();
  const bool small = is_gpu<D> && n < few_elements;
  const int times = small ? 16 : is_gpu<D> ? 4 : 1;
  Contest<D> contest(options, report, type, small ? 0 : problem.bytes(DynamicsWork::Fused));
  for (const auto& [work, name] : all_work) {
    const std::function<void()> run =
        repeated<D>([&problem, work = work] { problem.launch(work); }, problem.queue(), times);
    problem.expect(run);
    contest.measure({.name = name,
                     .n = n,
                     .bytes = small ? 0 : problem.bytes(work),
                     .calls = times,
                     .run = run,
                     .baseline = dynamics_by_hand(contest.place(), work, problem.by_hand(), times),
                     .others = {kokkos_dynamics(kokkos_place<D>(), work, problem.by_hand(), times)},
                     .correct = [&] { return problem.correct(); },
                     .clear = [&] { problem.clear(); }});
    problem.clear();
    if (work == DynamicsWork::StepOfThree || work == DynamicsWork::StepOfFused)
      add_rate<D>(options, report, type, name, n, times, run);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options =
      parse_options(argc, argv, "The kernels of explicit dynamics, one by one and as a time step.");
  Report report(
      "dynamics_kernels",
      "the fastest variant by hand of the same kernels, on the same arrays; on Cuda in graphs, too");
  for_each_type(options, [&](auto zero, const char* type) {
    using T = decltype(zero);
    for_each_real_device(options, [&](auto device) {
      using D = decltype(device);
      // Those of Tbb are those of Threads, and minutes of compiling.
      if constexpr (std::is_same_v<D, strata::Threads> || std::is_same_v<D, strata::Serial> || is_gpu<D>) {
        std::vector<index_t> sizes = {64000};
        if (is_gpu<D>) sizes = {10000, 4200000};
        if (options.n > 0) sizes = {options.n};
        for (const index_t elements : sizes) one_size<T, D>(options, report, type, elements);
      }
    });
  });
  report.note("GB/s count what must move, each array once; nodes are shared by up to eight elements.");
  return report.finish(options);
}
