// The devices of --device: which ones a program runs on.
//
//   for (const std::string& name : miniapp::chosen_devices(settings.device))
//     visit_device(name, [&](auto device) { run_on(device, ...); });
//
// Include it in one file of a program, which nvcc compiles where there is Cuda; run_on is declared there and
// instantiated in files of its own (strata_add_miniapp).
#pragma once

#include <string>
#include <vector>

#include <strata/algorithms/visit_device.hpp>
#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// The names to give visit_device: what is listed, or all that this machine has. Those that it does not have
/// are errors of visit_device.
inline std::vector<std::string> chosen_devices(const std::string& text) {
  if (text == "all") return device_names<AllDevices>();
  if (text.empty()) return {""};
  return split(text, ',');
}

/// The name of a device instance for people: "Threads", or "Cuda:1" where there are several.
template <class Device>
std::string device_text(const Device& device) {
  return Device::count() > 1 ? std::string(Device::name) + ":" + std::to_string(device.index())
                             : Device::name;
}

}  // namespace strata::inline STRATA_ABI::miniapp
