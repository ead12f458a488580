// What tasks need of the memories of a run's devices, where one has less than it was to have. Of tasks those
// count that are not over.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/task_plan.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Whether the task runs on the device `part`, and on no other that has memory for it.
bool needs_part(const TaskEntry& task, std::size_t part, const std::vector<TaskPlan::Device>& devices);
/// Bytes of the arrays that the task uses and that have no memory on the device.
index_t bytes_lacking(const TaskEntry& task, const TaskPart& part);
/// Bytes of the largest task, at least 1; of all, or of those for which needs_part() holds.
index_t largest_of(const std::vector<TaskEntry*>& tasks);
index_t largest_that_needs(std::size_t part, const std::vector<TaskEntry*>& tasks,
                           const std::vector<TaskPlan::Device>& devices);
/// Others use memory of the device `part`, too. Its new limit is what arrays have there, but at least an
/// eighth and at most three quarters of the old one; and what tasks need that only it can run.
void reduce_memory(std::size_t part, const std::vector<TaskEntry*>& tasks,
                   std::vector<TaskPlan::Device>& devices);

}  // namespace strata::inline STRATA_ABI::detail
