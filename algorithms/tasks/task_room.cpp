// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/task_room.hpp>
#include <strata/views/coherent/coherent_array_state.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

bool needs_part(const TaskEntry& task, std::size_t part, const std::vector<TaskPlan::Device>& devices) {
  if (task.kind != TaskEntry::Kind::Task || task.state != TaskEntry::State::Waiting) return false;
  if (!task.body->runs_on(devices[part].part.type)) return false;
  for (std::size_t k = 0; k < devices.size(); ++k)
    if (k != part && task.body->runs_on(devices[k].part.type) && task.bytes() <= devices[k].memory)
      return false;
  return true;
}

index_t bytes_lacking(const TaskEntry& task, const TaskPart& part) {
  std::vector<CoherentState*> arrays;
  for (const TaskUse& use : task.uses) arrays.push_back(use.array.get());
  std::sort(arrays.begin(), arrays.end());
  arrays.erase(std::unique(arrays.begin(), arrays.end()), arrays.end());
  index_t bytes = 0;
  for (CoherentState* const array : arrays)
    if (WholeCopies::presence(*array, *part.device) == WholeCopies::Presence::None)
      bytes += WholeCopies::bytes(*array);
  return bytes;
}

index_t largest_of(const std::vector<TaskEntry*>& tasks) {
  index_t largest = 1;
  for (const TaskEntry* const task : tasks)
    if (task->state == TaskEntry::State::Waiting) largest = std::max(largest, task->bytes());
  return largest;
}

index_t largest_that_needs(std::size_t part, const std::vector<TaskEntry*>& tasks,
                           const std::vector<TaskPlan::Device>& devices) {
  index_t largest = 1;
  for (const TaskEntry* const task : tasks)
    if (needs_part(*task, part, devices)) largest = std::max(largest, task->bytes());
  return largest;
}

void reduce_memory(std::size_t part, const std::vector<TaskEntry*>& tasks,
                   std::vector<TaskPlan::Device>& devices) {
  index_t& memory = devices[part].memory;
  const index_t resident = resident_bytes(*devices[part].part.device);
  const index_t less = std::min(memory / 4 * 3, std::max(resident, memory / 8));
  memory = std::min(memory, std::max(largest_that_needs(part, tasks, devices), less));
}

}  // namespace strata::inline STRATA_ABI::detail
