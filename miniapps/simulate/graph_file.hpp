// Graphs of tasks from JSON: README.md has the format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace strata::inline STRATA_ABI::simulate {

/// The graph of a file. UsageError where it cannot be understood, TaskError where its dependencies have a
/// cycle.
tasks::TaskDag read_graph(const std::string& path);

}  // namespace strata::inline STRATA_ABI::simulate
