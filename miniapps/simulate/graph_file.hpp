// Graphs of tasks from JSON: README.md has the format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <strata/algorithms/tasks/plan/task_dag.hpp>

namespace strata::inline STRATA_ABI::simulate {

/// What tasks of a kernel took where the graph was run.
struct MeasuredKernel {
  std::string kernel;                     ///< as the file has it
  double work = 0;                        ///< of one of the tasks
  std::map<std::string, double> seconds;  ///< by kind of device ("Cuda")
};
using MeasuredKernels = std::map<std::string, MeasuredKernel>;  ///< by the kernel of the graph

/// The graph of a file. UsageError where it cannot be understood, TaskError where its dependencies have a
/// cycle. Given `measured`, tasks that have seconds get kernels of their own, which are added to it.
tasks::TaskDag read_graph(const std::string& path, MeasuredKernels* measured = nullptr);

}  // namespace strata::inline STRATA_ABI::simulate
