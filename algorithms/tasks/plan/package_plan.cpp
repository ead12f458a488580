#include <algorithm>
#include <cmath>
#include <limits>

#include <strata/algorithms/tasks/plan/package_plan.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

// What is left to streamed arrays, in sides of a square of arrays that fills the memory: one for a step of
// the inner loop of a square package, the rest for copies ahead. With less, arrays of a step come twice.
constexpr double streamed_sides[] = {1.5, 1.8, 2.1, 2.4};

// Where several devices share the work, a package has at most a part of what is left, so that they end
// together, and at least a part of the memory, since small ones load more for each task. While all arrays fit
// the memories, what matters is that no device waits, else what is loaded.
struct Plan {
  std::vector<OutputPackage> packages;
  double loads = 0;
};

// Abandoned once it loads `most`.
Plan plan_with(OutputPackages outputs, index_t room, int num_devices, bool fits, double most) {
  Plan plan;
  std::vector<ArrayId> held;  // by one device: what it wrote last, and what it kept for that
  while (outputs.bytes_left() > 0 && plan.loads < most) {
    const double share = static_cast<double>(outputs.bytes_left()) / num_devices * (fits ? 0.7 : 1);
    const index_t least = room / (fits ? 3 : 2);
    plan.packages.push_back(
        outputs.take(num_devices == 1 ? room : std::clamp(static_cast<index_t>(share), least, room), held));
    const OutputPackage& package = plan.packages.back();
    plan.loads += package.loads;
    if (num_devices > 1) continue;
    held = package.outputs;
    held.insert(held.end(), package.kept.begin(), package.kept.end());
  }
  return plan;
}

}  // namespace

std::vector<OutputPackage> plan_packages(const TaskGraph& graph, const StructuralOrder& order,
                                         const std::vector<double>& priorities, index_t memory,
                                         int num_devices) {
  double bytes = 0;
  for (ArrayId array = 0; array < graph.num_arrays(); ++array)
    bytes += static_cast<double>(graph.array(array).bytes);
  const double side = std::sqrt(static_cast<double>(memory) * bytes / std::max(graph.num_arrays(), 1));
  const bool fits = bytes < static_cast<double>(memory) * num_devices;
  const OutputPackages outputs(graph, order, priorities);
  Plan best;
  best.loads = std::numeric_limits<double>::infinity();
  for (const double sides : streamed_sides) {
    const index_t room = memory - std::min(memory / 2, static_cast<index_t>(sides * side));
    Plan plan = plan_with(outputs, room, num_devices, fits, best.loads);
    if (plan.loads < best.loads) best = std::move(plan);
  }
  return std::move(best.packages);
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
