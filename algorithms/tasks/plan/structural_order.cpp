// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <limits>
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

// Numbers of the arrays by keys; equal ones share the first of theirs.
template <class Key>
std::vector<int> classes_of(const std::vector<Key>& keys) {
  std::vector<int> ids(keys.size()), classes(keys.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&](int a, int b) { return keys[slot(a)] < keys[slot(b)]; });
  for (std::size_t place = 0; place < ids.size(); ++place) {
    const bool is_equal = place > 0 && keys[slot(ids[place])] == keys[slot(ids[place - 1])];
    classes[slot(ids[place])] = is_equal ? classes[slot(ids[place - 1])] : static_cast<int>(place);
  }
  return classes;
}

// Arrays of a class differ where the classes of those that their tasks use beside them do. What is beside an
// access is what its task uses without it, so that a task of many arrays takes time linear in these.
std::vector<int> refined(const TaskDag& graph, const std::vector<int>& classes) {
  struct Key {
    int own, least, most;   // classes: its own, and of those beside it
    std::uint64_t all = 0;  // of all beside it: a sum, in whatever order
    auto operator<=>(const Key&) const = default;
  };
  constexpr int above = std::numeric_limits<int>::max(), below = -1;
  std::vector<Key> keys;
  for (const int own : classes) keys.push_back({own, above, below});
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    const std::vector<TaskAccess>& accesses = graph.task(task).accesses;
    std::array<int, 2> least{above, above}, most{below, below};  // the second ones: beside who has the first
    std::uint64_t all = 0;
    const auto key_at = [](std::uint64_t place, int own) {
      return key_of((static_cast<std::uint64_t>(own) << 32) + place);  // places and classes have 31 bits
    };
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      const int own = classes[slot(accesses[k].array)];
      least = {std::min(least[0], own), std::min(least[1], std::max(least[0], own))};
      most = {std::max(most[0], own), std::max(most[1], std::min(most[0], own))};
      all += key_at(k, own);
    }
    if (accesses.size() < 2) continue;
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      const int own = classes[slot(accesses[k].array)];
      Key& key = keys[slot(accesses[k].array)];
      key.least = std::min(key.least, own == least[0] ? least[1] : least[0]);
      key.most = std::max(key.most, own == most[0] ? most[1] : most[0]);
      key.all += key_of(all - key_at(k, own) + key_of(k));
    }
  }
  return classes_of(keys);
}

// Until no two arrays are of one class. Where the structure tells no more of them apart, as the rows of a
// product, the first class follows the program, and others may follow from that.
void separate(const TaskDag& graph, std::vector<int>& classes) {
  constexpr int most_rounds = 24;
  for (int round = 0; round < most_rounds; ++round) {
    std::vector<int> sizes(classes.size());
    for (const int own : classes) ++sizes[slot(own)];
    const auto first = std::find_if(sizes.begin(), sizes.end(), [](int size) { return size > 1; });
    if (first == sizes.end()) return;
    std::vector<int> finer = refined(graph, classes);
    if (finer != classes) {
      classes = std::move(finer);
      continue;
    }
    const int tied = static_cast<int>(first - sizes.begin());
    int number = tied;
    for (int& own : classes)
      if (own == tied) own = number++;
  }
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
  std::vector<int> classes = classes_of(keys);
  separate(graph, classes);
  order.of_arrays = places(graph.num_arrays(), [&](ArrayId a, ArrayId b) {
    return std::pair(classes[slot(a)], a) < std::pair(classes[slot(b)], b);
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
