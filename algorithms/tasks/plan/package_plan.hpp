// PackagePlan: all packages of a run, planned before it begins. How much memory is left to what is streamed
// decides into what shapes the outputs fall apart; a few such rooms are tried, and the plan is taken that
// loads least.
//
// Planning has a budget: outputs and tasks that are looked at, for each task of the graph. It is far above
// what graphs over tiles take. Where it is used up, or what packages load comes near to loading for each task
// all that it uses, the accesses have no structure that packages could use, and there is no plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/tasks/plan/output_packages.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// See the head of the file.
struct PackagePlan {
  std::vector<OutputPackage> packages;  ///< what the tasks of one wait for is of it or of earlier ones
  bool is_found = false;                ///< else there are none
  bool fits = false;                    ///< all arrays, into the memories of all devices together
  double loads = 0;                     ///< bytes that they are expected to load
  long num_inspected = 0;               ///< outputs and tasks that were looked at, each as often as it was
};

/// How many outputs and tasks are looked at at most for each task of a graph, but for the last package: of
/// one plan. Graphs over tiles take 100 to 500, and after a fifth of this no other plan is begun.
inline constexpr long most_inspected = 1500;

/// Of packages that several devices share, where all arrays fit their memories together.
enum class PackageSize : unsigned char {
  Large,  ///< a part of the memory at least: loads least
  Small   ///< as many for each device as keep it busy
};

/// `memory`: bytes of the device that has least. At the end, `num_devices` share what is left.
PackagePlan plan_packages(const TaskDag& graph, const StructuralOrder& order,
                          const std::vector<double>& priorities, index_t memory, int num_devices,
                          PackageSize size = PackageSize::Large);

}  // namespace strata::inline STRATA_ABI::tasks::detail
