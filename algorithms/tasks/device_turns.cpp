// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>

#include <strata/algorithms/tasks/device_turns.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

struct Turns {
  std::mutex mutex;
  std::map<const DeviceInstance*, std::weak_ptr<std::mutex>> of_devices;
};
// Never destroyed: runs may end after the end of main().
Turns& all_turns() {
  static auto* const all = new Turns;
  return *all;
}

}  // namespace

DeviceTurns::DeviceTurns(const std::vector<TaskPart>& parts) {
  std::vector<const DeviceInstance*> devices;
  for (const TaskPart& part : parts)
    if (part.host == nullptr) devices.push_back(part.device);
  std::sort(devices.begin(), devices.end(), std::less<>());
  Turns& all = all_turns();
  const std::lock_guard lock(all.mutex);
  for (const DeviceInstance* const device : devices) {
    std::weak_ptr<std::mutex>& known = all.of_devices[device];
    std::shared_ptr<std::mutex> turn = known.lock();
    if (!turn) known = turn = std::make_shared<std::mutex>();
    turns_.push_back(std::move(turn));
  }
}

DeviceTurns::~DeviceTurns() {
  give_back();
  turns_.clear();
  Turns& all = all_turns();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.of_devices, [](const auto& known) { return known.second.expired(); });
}

void DeviceTurns::take() {
  if (has_them_) return;
  for (const std::shared_ptr<std::mutex>& turn : turns_) turn->lock();
  has_them_ = true;
}

void DeviceTurns::give_back() {
  if (!has_them_) return;
  has_them_ = false;
  for (const std::shared_ptr<std::mutex>& turn : turns_) turn->unlock();
}

std::size_t DeviceTurns::num_known() {
  Turns& all = all_turns();
  const std::lock_guard lock(all.mutex);
  return all.of_devices.size();
}

}  // namespace strata::inline STRATA_ABI::detail
