// StructuralOrder: numbers of tasks and arrays that follow from the graph's structure, not from the order in
// which a program named them. What decides by them where candidates are equal does the same for every
// topological order of the same tasks, and for arrays with any numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// See the head of the file. Of what the structure does not tell apart (the rows of a product, say) a part
/// follows the program, and the rest from that, so that what is decided by the numbers is the same for all
/// rows.
struct StructuralOrder {
  std::vector<double> depths;  ///< of tasks: how many are before it on the longest path
  std::vector<double> levels;  ///< of tasks: their bottom levels
  std::vector<int> of_tasks;   ///< their numbers: by depth, of equal ones the highest bottom level first
  std::vector<int> of_arrays;  ///< their numbers: those first whose users have the highest bottom levels
};

/// Bits that look drawn at random, the same in each run.
inline std::uint64_t key_of(std::uint64_t number) {
  std::uint64_t bits = (number + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

/// O(n log n) for a graph without a cycle.
StructuralOrder structural_order(const TaskDag& graph);

}  // namespace strata::inline STRATA_ABI::tasks::detail
