// PackagePlan: all packages of a run, planned before it begins. How much memory is left to what is streamed
// decides into what shapes the outputs fall apart; a few such rooms are tried, and the plan is taken that
// loads least.
#pragma once

#include <vector>

#include <strata/algorithms/tasks/plan/output_packages.hpp>

namespace strata::inline STRATA_ABI::tasks::detail {

/// The packages in their order: what the tasks of one wait for is of it or of earlier ones. `memory`: bytes
/// of the device that has least. At the end, `num_devices` share what is left.
std::vector<OutputPackage> plan_packages(const TaskGraph& graph, const StructuralOrder& order,
                                         const std::vector<double>& priorities, index_t memory,
                                         int num_devices);

}  // namespace strata::inline STRATA_ABI::tasks::detail
