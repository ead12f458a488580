// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include <strata/algorithms/tasks/plan/package_plan.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

// What is left to streamed arrays, in sides of a square of arrays that fills the memory: one for a step of
// the inner loop of a square package, the rest for copies ahead. With less, arrays of a step come twice.
constexpr double streamed_sides[] = {1.5, 1.8, 2.1, 2.4};

// Of what tasks use, each time that they use it, a plan loads at most this part; more where all arrays fit
// the memories of several devices, each of which loads what it uses.
constexpr double most_loaded = 0.4, most_loaded_where_all_fits = 0.6;
// Only when one of so many tasks is planned a plan can be said to load more.
constexpr int first_part = 16;
// And the first packages of some graphs take longer than later ones.
constexpr int first_inspected_part = 4;
// Other rooms are tried until so many outputs and tasks were looked at for each task.
constexpr long most_inspected_for_rooms = most_inspected / 5;

// What each plan of a graph has to keep to.
struct Limits {
  index_t memory;
  index_t room;  // of a package
  int num_devices;
  double share;    // of all arrays, for each device
  bool is_small;   // packages
  bool fits;       // all arrays, into the memories together
  double loads;    // abandoned once it loads so much
  long inspected;  // the same, for each task
};

double used_bytes(const TaskDag& graph, const std::vector<TaskId>& tasks) {
  index_t bytes = 0;
  for (const TaskId task : tasks) bytes += graph.bytes_of(task);
  return static_cast<double>(bytes);
}

// A step of the inner loop reads a part of what a package streams. What of it does not fit beside the
// outputs, and beside what is kept for them, comes twice; at most everything comes each time that it is used.
double expected_loads(const TaskDag& graph, const OutputPackage& package, double memory, double used) {
  double outputs = 0, kept = 0;
  for (const ArrayId array : package.outputs) outputs += static_cast<double>(graph.array(array).bytes);
  for (const ArrayId array : package.kept) kept += static_cast<double>(graph.array(array).bytes);
  const double streamed = package.loads - outputs, room = memory - outputs - kept;
  return std::max(package.loads, std::min(used, package.loads + streamed - package.steps * room));
}

// Where several devices share the work, a package has at most a part of what is left, so that they end
// together, and at least a part of the memory, since small ones load more for each task. While all arrays fit
// the memories, what matters is that no device waits, else what is loaded: then small packages need not have
// more than a part of a device's share either, or large memories would leave too few packages for all.
PackagePlan plan_with(const TaskDag& graph, OutputPackages outputs, const Limits& limits) {
  PackagePlan plan;
  std::vector<ArrayId> held;  // by one device: what it wrote last, and what it kept for that
  double used = 0;
  long num_tasks = 0;
  while (outputs.bytes_left() > 0) {
    const double share =
        static_cast<double>(outputs.bytes_left()) / limits.num_devices * (limits.fits ? 0.7 : 1);
    constexpr double packages_a_device = 4;
    const index_t least =
        !limits.fits      ? limits.room / 2
        : limits.is_small ? std::min(limits.room / 3, static_cast<index_t>(limits.share / packages_a_device))
                          : limits.room / 3;
    plan.packages.push_back(outputs.take(
        limits.num_devices == 1 ? limits.room : std::clamp(static_cast<index_t>(share), least, limits.room),
        held));
    const OutputPackage& package = plan.packages.back();
    const double of_tasks = used_bytes(graph, package.tasks);
    plan.loads += expected_loads(graph, package, static_cast<double>(limits.memory), of_tasks);
    plan.num_inspected = outputs.num_inspected();
    used += of_tasks;
    num_tasks += std::ssize(package.tasks);
    if (plan.loads >= limits.loads ||
        plan.num_inspected > limits.inspected * (num_tasks + graph.num_tasks() / first_inspected_part) ||
        (num_tasks > graph.num_tasks() / first_part &&
         plan.loads > (limits.fits ? most_loaded_where_all_fits : most_loaded) * used))
      return plan;
    if (limits.num_devices > 1) continue;
    held = package.outputs;
    held.insert(held.end(), package.kept.begin(), package.kept.end());
  }
  plan.is_found = true;
  return plan;
}

}  // namespace

PackagePlan plan_packages(const TaskDag& graph, const StructuralOrder& order,
                          const std::vector<double>& priorities, index_t memory, int num_devices,
                          PackageSize size) {
  double bytes = 0;
  for (ArrayId array = 0; array < graph.num_arrays(); ++array)
    bytes += static_cast<double>(graph.array(array).bytes);
  const double side = std::sqrt(static_cast<double>(memory) * bytes / std::max(graph.num_arrays(), 1));
  const OutputPackages outputs(graph, order, priorities);
  Limits limits{memory,
                0,
                num_devices,
                bytes / num_devices,
                size == PackageSize::Small,
                bytes < static_cast<double>(memory) * num_devices,
                std::numeric_limits<double>::infinity(),
                most_inspected};
  PackagePlan best;
  for (const double sides : streamed_sides) {
    limits.room = memory - std::min(memory / 2, static_cast<index_t>(sides * side));
    PackagePlan plan = plan_with(graph, outputs, limits);
    const long inspected = best.num_inspected + plan.num_inspected;
    if (plan.is_found) best = std::move(plan);
    best.num_inspected = inspected;
    limits.loads = best.loads;
    if (!best.is_found || inspected > most_inspected_for_rooms * graph.num_tasks()) break;
    limits.inspected = most_inspected - inspected / std::max(graph.num_tasks(), 1);
  }
  best.fits = limits.fits;
  if (!best.is_found) best.packages.clear();
  return best;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
