// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <strata/algorithms/tasks/part_uses.hpp>
#include <strata/algorithms/tasks/task_plan.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using tasks::ArrayId;
using tasks::TaskId;

// Of devices whose speed with a task nobody knows: a host counts as a fiftieth of a GPU. Schedulers that try
// what they could do take a share of the time that they expect, so that operations are not to count as bytes.
struct AssumedRates {
  double bytes, operations;  // a second
};
constexpr AssumedRates of_host{2e10, 4e11}, of_device{1e12, 2e13};

}  // namespace

std::string TaskPlan::name_of(const TaskPart& part) {
  const std::string name = part.device->device_name();
  return part.host != nullptr ? name : name + "{" + std::to_string(part.device->index()) + "}";
}

TaskPlan::TaskPlan(const std::string& label, const std::vector<Entry>& entries,
                   const std::vector<Device>& devices, const TaskCosts* costs)
    : rates_(devices.size()) {
  add_arrays(entries);
  add_tasks(entries, devices, costs);
  make_machine(label, devices);
}

void TaskPlan::add_arrays(const std::vector<Entry>& entries) {
  std::unordered_map<const CoherentState*, ArrayId> known;
  std::vector<bool> by_parts;
  ids_.reserve(3 * entries.size());
  for (const Entry& entry : entries)
    for (const TaskUse& use : entry.entry->uses) {
      const auto [id, is_new] = known.try_emplace(use.array.get(), static_cast<ArrayId>(arrays.size()));
      if (is_new) {
        arrays.push_back(use.array);
        by_parts.push_back(false);
      }
      ids_.push_back(id->second);
      if (!use.is_whole) by_parts[static_cast<std::size_t>(id->second)] = true;
    }
  for (std::size_t k = 0; k < arrays.size(); ++k)
    tasks.add_array("\"" + arrays[k]->label + "\"", std::max<index_t>(WholeCopies::bytes(*arrays[k]), 1),
                    by_parts[k]);
}

void TaskPlan::add_tasks(const std::vector<Entry>& all, const std::vector<Device>& devices,
                         const TaskCosts* costs) {
  std::unordered_map<ArrayId, PartUses> part_uses;
  std::unordered_map<int, TaskId> ids_of_tasks;  // by number, where any task waits for others by name
  const bool has_named =
      std::any_of(all.begin(), all.end(), [](const Entry& entry) { return !entry.entry->after.empty(); });
  bool has_priorities = false;
  std::vector<tasks::TaskAccess> accesses;
  auto id = ids_.begin();
  sources.reserve(all.size());
  for (const Entry& added : all) {
    const TaskEntry& entry = *added.entry;
    if (entry.kind != TaskEntry::Kind::Task) {
      tasks.add_release(*id++, entry.kind == TaskEntry::Kind::Discard);
      continue;
    }
    accesses.clear();
    index_t bytes = 0;
    for (const TaskUse& use : entry.uses) {
      accesses.push_back({*id++, use.mode, use.commutes});
      bytes += tasks.array(accesses.back().array).bytes;
    }
    const double work = entry.work > 0 ? entry.work : TaskEntry::work_of(bytes);
    const TaskId task = tasks.add_task("\"" + entry.label + "\"",
                                       kernel_of(entry, work, bytes, devices, costs), work, accesses);
    for (std::size_t k = 0; k < accesses.size(); ++k)
      if (const ArrayId array = accesses[k].array; tasks.array(array).by_parts)
        for (const TaskId before : part_uses[array].add(task, entry.uses[k]))
          tasks.add_dependency(before, task);
    for (const int before : entry.after)
      if (const auto known = ids_of_tasks.find(before); known != ids_of_tasks.end())
        tasks.add_dependency(known->second, task);
    if (has_named) ids_of_tasks[added.number] = task;
    sources.push_back(added);
    priorities.push_back(entry.priority);
    has_priorities = has_priorities || entry.has_priority;
  }
  if (!has_priorities) priorities.clear();
  ids_ = {};
}

// The kernel of a task, as the machine has it: what has the same rates.
const std::string& TaskPlan::kernel_of(const TaskEntry& entry, double work, index_t bytes,
                                       const std::vector<Device>& devices, const TaskCosts* costs) {
  versions_.clear();
  for (const Device& device : devices) versions_.push_back(entry.body->runs_on(device.part.type));
  std::vector<Kernel>& kernels = kernels_[{entry.label, bytes}];
  const bool has_work = entry.work > 0;
  for (const Kernel& kernel : kernels)
    if (kernel.versions == versions_ && kernel.has_work == has_work) return kernel.name;

  std::string name = entry.label + "/" + std::to_string(bytes) + "/";
  for (const bool has_version : versions_) name += has_version ? '1' : '0';
  if (has_work) name += "w";
  const auto assumed_rate = [&](std::size_t k) {
    const AssumedRates& assumed = devices[k].part.host != nullptr ? of_host : of_device;
    return has_work ? assumed.operations : assumed.bytes;
  };
  const auto measured_rate = [&](std::size_t k) {
    const double seconds = costs == nullptr || !versions_[k]
                               ? -1
                               : costs->seconds(devices[k].part.device->device_name(), entry.label, bytes);
    return seconds > 0 ? work / seconds : 0;
  };
  // A device that was not measured is as much faster or slower than expected as the fastest that was: else a
  // host would seem fast beside a GPU whose kernels do much with few bytes.
  double of_expected = 0;
  for (std::size_t k = 0; k < devices.size(); ++k)
    of_expected = std::max(of_expected, measured_rate(k) / assumed_rate(k));
  for (std::size_t k = 0; k < devices.size(); ++k) {
    if (!versions_[k]) continue;
    const double rate = measured_rate(k);
    rates_[k][name] = rate > 0 ? rate : assumed_rate(k) * (of_expected > 0 ? of_expected : 1);
  }
  kernels.push_back({versions_, has_work, std::move(name)});
  return kernels.back().name;
}

void TaskPlan::make_machine(const std::string& label, const std::vector<Device>& devices) {
  std::vector<tasks::MachineDevice> all;
  std::vector<tasks::Link> links;
  std::vector<tasks::Joint> joints;
  const auto join = [&](int first, int second, CopyCost cost) {
    if (!(cost.bytes_per_second > 0)) return;
    links.push_back({"link " + std::to_string(links.size()), cost.bytes_per_second, cost.seconds, true});
    joints.push_back({first, second, static_cast<int>(links.size()) - 1});
  };
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const TaskPart& part = devices[k].part;
    const int device = static_cast<int>(k);
    all.push_back({name_of(part), devices[k].memory, std::move(rates_[k]), devices[k].queues});
    // Copies from the host to a host take no time.
    join(tasks::host, device,
         part.host != nullptr ? CopyCost{0, 1e15} : WholeCopies::link(nullptr, part.device));
    for (std::size_t other = 0; other < k; ++other)
      if (part.host == nullptr && devices[other].part.host == nullptr)
        join(static_cast<int>(other), device, WholeCopies::link(devices[other].part.device, part.device));
  }
  machine = std::make_unique<tasks::Machine>("devices of " + label, std::move(all), std::move(links),
                                             std::move(joints));
}

}  // namespace strata::inline STRATA_ABI::detail
