// Whether a device of a place can run a task: it has a version for it, and memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/tasks/task_graph_state.hpp>
#include <strata/algorithms/tasks/task_place.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Throws Error where no part has a version of a task of `graph`, TaskError where none that has one has the
/// memory: `memories` are bytes of each part.
void require_device(const std::string& graph, const TaskEntry& task, const std::vector<TaskPart>& parts,
                    const std::vector<index_t>& memories);

}  // namespace strata::inline STRATA_ABI::detail
