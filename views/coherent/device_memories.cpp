// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <string>

#include <strata/core/allocation_report.hpp>
#include <strata/core/error.hpp>
#include <strata/devices/serial/device.hpp>
#include <strata/views/coherent/device_memories.hpp>

namespace strata::inline STRATA_ABI::detail {

MemoryId DeviceMemories::id_of(DeviceInstance& device) {
  if (device.host_accessible()) return host_memory;
  for (std::size_t k = 0; k < memories_.size(); ++k)
    if (memories_[k]->device == &device) return static_cast<MemoryId>(k) + 1;
  if (size() == most_memories)
    throw Error("coherent arrays work on at most " + std::to_string(most_memories - 1) +
                " devices with memories of their own");
  const std::size_t capacity = device.capacity();
  const index_t budget =
      capacity == 0 ? std::numeric_limits<index_t>::max() / 2 : static_cast<index_t>(capacity);
  memories_.push_back(std::make_unique<DeviceMemory>(
      DeviceMemory{&device, Residency(budget), CopyQueue(device), CopyQueue(device), CopyQueue(device)}));
  try {
    connect();
  } catch (...) {
    memories_.pop_back();
    throw;
  }
  return size() - 1;
}

void DeviceMemories::connect() {
  const auto link = [](const CopyCost& cost) { return MemoryLink{cost.seconds, cost.bytes_per_second}; };
  // Every device has a way to the host and back, also one that does not know how fast it is.
  const auto host_link = [&](const CopyCost& cost) {
    return cost.bytes_per_second > 0 ? link(cost) : MemoryLink{1e-5, 1e10};
  };
  const DeviceInstance& host = Serial().backend();
  MemoryLinks all(size(), {});
  for (MemoryId m = 1; m < size(); ++m) {
    DeviceInstance& device = *(*this)[m].device;
    all.set(m, host_memory, host_link(device.copy_cost_to_host()));
    all.set(host_memory, m, host_link(device.copy_cost(host)));
    for (MemoryId other = 1; other < size(); ++other)
      if (other != m && (*this)[other].device->space().kind == device.space().kind)
        all.set(other, m, link(device.copy_cost(*(*this)[other].device)));
  }
  links_ = all;
}

std::string DeviceMemories::name(MemoryId memory) const {
  if (memory == host_memory) return "Host";
  return describe_space(memories_[static_cast<std::size_t>(memory) - 1]->device->space());
}

}  // namespace strata::inline STRATA_ABI::detail
