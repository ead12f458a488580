// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/plan/task_error.hpp>
#include <strata/algorithms/tasks/task_device.hpp>
#include <strata/algorithms/tasks/task_failures.hpp>
#include <strata/algorithms/tasks/task_plan.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/views/coherent/coherent_state.hpp>

namespace strata::inline STRATA_ABI::detail {

void require_device(const std::string& graph, const TaskEntry& task, const std::vector<TaskPart>& parts,
                    const std::vector<index_t>& memories) {
  if (task.kind != TaskEntry::Kind::Task) return;
  bool has_version = false, fits = false;
  const index_t bytes = task.bytes();
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (!task.body->runs_on(parts[k].type)) continue;
    has_version = true;
    fits = fits || bytes <= memories[k];
  }
  if (fits) return;
  const std::string who = "the task \"" + task.label + "\" of \"" + graph + "\" ";
  std::vector<std::string> names;
  std::string may_use;
  index_t largest = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    names.push_back(TaskPlan::name_of(parts[k]));
    if (!task.body->runs_on(parts[k].type)) continue;
    may_use +=
        (may_use.empty() ? "" : ", ") + names.back() + " (" + string_from_bytes(memories[k], bytes) + ")";
    largest = std::max(largest, memories[k]);
  }
  if (!has_version)
    throw Error(
        who + "has no version for " + list_of(names) +
        ": give a device for which it has one, or a function that takes the Queue of one of these (of "
        "hosts a Queue<AnyHost>); kernels for Cuda are compiled in files of strata_add_kernels only");
  std::vector<std::string> arrays;
  for (const TaskUse& use : task.uses) arrays.push_back(use.array->label);
  throw tasks::TaskError(who + "needs " + string_from_bytes(bytes, largest) + " at once, of " +
                         list_of(arrays) +
                         ", more than tasks may use of any device that can run it: " + may_use +
                         ". Allow more with coherent::set_budget(device, bytes), or options.host_memory of "
                         "hosts, or divide the arrays into smaller ones");
}

}  // namespace strata::inline STRATA_ABI::detail
