#include <algorithm>

#include <strata/algorithms/tasks/task_plan.hpp>
#include <strata/views/coherent/coherent_state.hpp>
#include <strata/views/coherent/whole_copies.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using tasks::ArrayId;
using tasks::TaskId;

bool covers(const ArrayPart& a, const ArrayPart& b) {
  bool all = true;
  b.visit([&](const Box& y) {
    bool found = false;
    a.visit([&](const Box& x) { found = found || x.contains(y); });
    all = all && found;
  });
  return all;
}

// The uses of an array of which tasks use parts, as far as later ones can conflict with them.
class PartUses {
 public:
  // What `task` has to wait for.
  std::vector<TaskId> add(TaskId task, const TaskUse& use) {
    std::vector<TaskId> before;
    const bool is_writing = writes(use.mode);
    std::vector<Use> kept;
    for (Use& other : uses_) {
      const bool conflicts = (is_writing || other.is_writing) && overlap(other.part, use.part);
      if (conflicts) before.push_back(other.task);
      if (!(is_writing && covers(use.part, other.part))) kept.push_back(std::move(other));
    }
    uses_ = std::move(kept);
    uses_.push_back({task, use.part, is_writing});
    return before;
  }

 private:
  struct Use {
    TaskId task;
    ArrayPart part;
    bool is_writing;
  };
  std::vector<Use> uses_;
};

// Of devices whose speed with a task nobody knows.
constexpr double host_bytes_per_second = 2e10, device_bytes_per_second = 1e12;

}  // namespace

std::string TaskPlan::name_of(const TaskPart& part) {
  const std::string name = part.device->device_name();
  return part.host != nullptr ? name : name + "{" + std::to_string(part.device->index()) + "}";
}

TaskPlan::TaskPlan(TaskGraphState& graph, const std::vector<int>& entries, const std::vector<Device>& devices,
                   const TaskCosts* costs)
    : rates_(devices.size()) {
  add_arrays(graph, entries);
  add_tasks(graph, entries, devices, costs);
  make_machine(graph.label, devices);
}

void TaskPlan::add_arrays(TaskGraphState& graph, const std::vector<int>& entries) {
  std::vector<bool> by_parts;
  for (const int number : entries)
    for (const TaskUse& use : graph.entry(number).uses) {
      const auto [id, is_new] = ids_.emplace(use.array.get(), static_cast<ArrayId>(arrays.size()));
      if (is_new) {
        arrays.push_back(use.array);
        by_parts.push_back(false);
      }
      if (!use.is_whole) by_parts[static_cast<std::size_t>(id->second)] = true;
    }
  for (std::size_t k = 0; k < arrays.size(); ++k)
    tasks.add_array("\"" + arrays[k]->label + "\"", std::max<index_t>(WholeCopies::bytes(*arrays[k]), 1),
                    by_parts[k]);
}

void TaskPlan::add_tasks(TaskGraphState& graph, const std::vector<int>& entries,
                         const std::vector<Device>& devices, const TaskCosts* costs) {
  std::map<ArrayId, PartUses> part_uses;
  std::unordered_map<int, TaskId> ids_of_tasks;
  bool has_priorities = false;
  for (const int number : entries) {
    const TaskEntry& entry = graph.entry(number);
    if (entry.kind != TaskEntry::Kind::Task) {
      tasks.add_release(ids_.at(entry.uses.front().array.get()), entry.kind == TaskEntry::Kind::Discard);
      continue;
    }
    std::vector<tasks::TaskAccess> accesses;
    index_t bytes = 0;
    for (const TaskUse& use : entry.uses) {
      accesses.push_back({ids_.at(use.array.get()), use.mode, use.commutes});
      bytes += tasks.array(accesses.back().array).bytes;
    }
    const double work = entry.work > 0 ? entry.work : static_cast<double>(bytes);
    const TaskId task = tasks.add_task("\"" + entry.label + "\"",
                                       add_kernel(entry, work, bytes, devices, costs), work, accesses);
    for (std::size_t k = 0; k < accesses.size(); ++k)
      if (const ArrayId array = accesses[k].array; tasks.array(array).by_parts)
        for (const TaskId before : part_uses[array].add(task, entry.uses[k]))
          tasks.add_dependency(before, task);
    for (const int before : entry.after)
      if (const auto known = ids_of_tasks.find(before); known != ids_of_tasks.end())
        tasks.add_dependency(known->second, task);
    ids_of_tasks[number] = task;
    numbers.push_back(number);
    priorities.push_back(entry.priority);
    has_priorities = has_priorities || entry.has_priority;
  }
  if (!has_priorities) priorities.clear();
}

// The kernel of a task, as the machine has it: what has the same rates.
std::string TaskPlan::add_kernel(const TaskEntry& entry, double work, index_t bytes,
                                 const std::vector<Device>& devices, const TaskCosts* costs) {
  std::string kernel = entry.label + "/" + std::to_string(bytes) + "/";
  for (const Device& device : devices) kernel += entry.body->runs_on(device.part.type) ? '1' : '0';
  for (std::size_t k = 0; k < devices.size(); ++k) {
    const TaskPart& part = devices[k].part;
    if (!entry.body->runs_on(part.type)) continue;
    const double seconds =
        costs == nullptr ? -1 : costs->seconds(part.device->device_name(), entry.label, bytes);
    double& rate = rates_[k][kernel];
    if (seconds > 0) rate = work / seconds;
    else if (rate == 0) rate = part.host != nullptr ? host_bytes_per_second : device_bytes_per_second;
  }
  return kernel;
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
