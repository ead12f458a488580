// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <compare>
#include <numeric>
#include <utility>

#include <strata/algorithms/tasks/plan/structural_order.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

namespace {

std::size_t slot(int id) { return static_cast<std::size_t>(id); }

// The place of each of `count` ids when they are sorted.
template <class Less>
std::vector<int> places(int count, const Less& less) {
  std::vector<int> ids(slot(count)), places(slot(count));
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), less);
  for (int place = 0; place < count; ++place) places[slot(ids[slot(place)])] = place;
  return places;
}

std::vector<double> depths_of(const TaskDag& graph) {
  std::vector<double> depths(slot(graph.num_tasks()));
  for (const TaskId task : graph.order())
    for (const TaskId next : graph.successors(task))
      depths[slot(next)] = std::max(depths[slot(next)], depths[slot(task)] + 1);
  return depths;
}

}  // namespace

StructuralOrder structural_order(const TaskDag& graph) {
  StructuralOrder order{depths_of(graph), bottom_levels(graph), {}, {}};

  // Sums of whole numbers: exact, in whatever order they are added. By its places among the accesses of tasks
  // the left factor of a product differs from the right one.
  struct Key {
    double levels = 0, depths = 0;
    std::size_t positions = 0;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> keys(slot(graph.num_arrays()));
  for (TaskId task = 0; task < graph.num_tasks(); ++task)
    for (std::size_t k = 0; k < graph.task(task).accesses.size(); ++k) {
      Key& key = keys[slot(graph.task(task).accesses[k].array)];
      key.levels -= order.levels[slot(task)];
      key.depths += order.depths[slot(task)];
      key.positions += k;
    }
  order.of_arrays = places(graph.num_arrays(), [&](ArrayId a, ArrayId b) {
    return keys[slot(a)] == keys[slot(b)] ? a < b : keys[slot(a)] < keys[slot(b)];
  });
  // Keys side by side: most comparisons look at nothing else.
  struct TaskKey {
    double depth, level;
    std::array<int, 3> first;  // numbers of the first arrays that the task uses
    auto operator<=>(const TaskKey&) const = default;
  };
  std::vector<TaskKey> task_keys;
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    TaskKey key{order.depths[slot(task)], -order.levels[slot(task)], {-1, -1, -1}};
    const std::vector<TaskAccess>& accesses = graph.task(task).accesses;
    for (std::size_t k = 0; k < std::min(accesses.size(), key.first.size()); ++k)
      key.first[k] = order.of_arrays[slot(accesses[k].array)];
    task_keys.push_back(key);
  }
  order.of_tasks = places(graph.num_tasks(), [&](TaskId a, TaskId b) {
    if (const auto compared = task_keys[slot(a)] <=> task_keys[slot(b)]; compared != 0) return compared < 0;
    const std::vector<TaskAccess>&of_a = graph.task(a).accesses, &of_b = graph.task(b).accesses;
    for (std::size_t k = 0; k < std::min(of_a.size(), of_b.size()); ++k)
      if (of_a[k].array != of_b[k].array)
        return order.of_arrays[slot(of_a[k].array)] < order.of_arrays[slot(of_b[k].array)];
    return std::pair(of_a.size(), a) < std::pair(of_b.size(), b);
  });
  return order;
}

}  // namespace strata::inline STRATA_ABI::tasks::detail
