// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <sstream>

#include <strata/algorithms/tasks/plan/machine.hpp>
#include <strata/core/bytes.hpp>

namespace strata::inline STRATA_ABI::tasks {

namespace {

std::string number_text(double value) {  // also of those that std::to_string rounds to 0
  std::ostringstream text;
  text << value;
  return text.str();
}

const std::string& kernel_of(const TaskDag& graph, TaskId task) {
  return graph.kernels()[static_cast<std::size_t>(graph.task(task).kernel)];
}

const double* rate_of(const MachineDevice& device, const std::string& kernel) {
  auto rate = device.rates.find(kernel);
  if (rate == device.rates.end()) rate = device.rates.find("*");
  return rate == device.rates.end() ? nullptr : &rate->second;
}

bool is_positive(double value) { return value > 0 && !std::isinf(value); }

}  // namespace

Machine::Machine(std::string name, std::vector<MachineDevice> devices, std::vector<Link> links,
                 std::vector<Joint> joints)
    : name_(std::move(name)), devices_(std::move(devices)), links_(std::move(links)) {
  const std::string who = "the machine \"" + name_ + "\": ";
  if (devices_.empty()) throw TaskError(who + "it has no device");
  for (const MachineDevice& device : devices_) {
    if (device.memory < 1)
      throw TaskError(who + "the device \"" + device.name + "\" has a memory of " +
                      std::to_string(device.memory) + " bytes: at least 1 is needed");
    if (device.queues < 1)
      throw TaskError(who + "the device \"" + device.name + "\" has " + std::to_string(device.queues) +
                      " queues: at least 1 is needed");
    for (const auto& [kernel, rate] : device.rates)
      if (!is_positive(rate))
        throw TaskError(who + "the rate of \"" + kernel + "\" on the device \"" + device.name + "\" is " +
                        number_text(rate) + ": rates are work per second, more than 0");
  }
  for (const Link& link : links_) {
    if (!is_positive(link.bytes_per_second))
      throw TaskError(who + "the link \"" + link.name + "\" moves " + number_text(link.bytes_per_second) +
                      " bytes per second: more than 0 are needed");
    if (!(link.latency >= 0) || std::isinf(link.latency))
      throw TaskError(who + "the latency of the link \"" + link.name + "\" is " + number_text(link.latency) +
                      " seconds: at least 0 are needed");
  }
  routes_.assign((devices_.size() + 1) * (devices_.size() + 1), none);
  for (const Joint& joint : joints) {
    for (const DeviceId end : {joint.first, joint.second})
      if (end < host || end >= num_devices())
        throw TaskError(who + "a link joins the device number " + std::to_string(end) + ", and there are " +
                        std::to_string(devices_.size()));
    if (joint.link < 0 || joint.link >= static_cast<int>(links_.size()))
      throw TaskError(who + "the link number " + std::to_string(joint.link) +
                      " joins memories, and there are " + std::to_string(links_.size()));
    for (const auto& [from, to] :
         {std::pair(joint.first, joint.second), std::pair(joint.second, joint.first)}) {
      int& route = routes_[index_of(from) * (devices_.size() + 1) + index_of(to)];
      if (route == none || links_[static_cast<std::size_t>(joint.link)].bytes_per_second >
                               links_[static_cast<std::size_t>(route)].bytes_per_second)
        route = joint.link;
    }
  }
  for (DeviceId device = 0; device < num_devices(); ++device)
    if (link_between(host, device) == none)
      throw TaskError(who + "no link joins the device \"" + this->device(device).name +
                      "\" to the host, where its arrays come from: add a link that joins \"host\" and it");
}

double Machine::copy_seconds(DeviceId from, DeviceId to, index_t bytes) const {
  const Link& link = links_[static_cast<std::size_t>(link_between(from, to))];
  return link.latency + static_cast<double>(bytes) / link.bytes_per_second;
}

bool Machine::can_run(const TaskDag& graph, TaskId task, DeviceId device) const {
  return rate_of(this->device(device), kernel_of(graph, task)) != nullptr &&
         graph.bytes_of(task) <= this->device(device).memory;
}

double Machine::run_seconds(const TaskDag& graph, TaskId task, DeviceId device) const {
  const std::string& kernel = kernel_of(graph, task);
  const double work = graph.task(task).work;
  if (const double* const rate = rate_of(this->device(device), kernel)) return work / *rate;
  double fastest = 0;
  for (const MachineDevice& other : devices_)
    if (const double* const rate = rate_of(other, kernel)) fastest = std::max(fastest, *rate);
  if (fastest == 0)
    throw TaskError("the machine \"" + name_ + "\" has no rate of the kernel \"" + kernel +
                    "\" of the task " + graph.describe(task) +
                    " on any device: name one, or one of \"*\" for all kernels");
  return work / fastest;
}

void Machine::require_fit(const TaskDag& graph) const {
  std::vector<index_t> of_kernels(graph.kernels().size());  // the largest memory of devices that have a rate
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    index_t& largest = of_kernels[static_cast<std::size_t>(graph.task(task).kernel)];
    if (largest == 0) {
      run_seconds(graph, task, 0);
      for (const MachineDevice& device : devices_)
        if (rate_of(device, kernel_of(graph, task))) largest = std::max(largest, device.memory);
    }
    const index_t bytes = graph.bytes_of(task);
    if (bytes <= largest) continue;
    throw TaskError("the task " + graph.describe(task) + " needs " + string_from_bytes(bytes, largest) +
                    " at once, and the largest memory of the machine \"" + name_ +
                    "\" on a device that runs it has " + string_from_bytes(largest, bytes) +
                    ": use smaller arrays (tiles) or more memory");
  }
}

}  // namespace strata::inline STRATA_ABI::tasks
