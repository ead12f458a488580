// The devices of --device: which ones a program runs on.
//
//   for (const std::string& name : miniapp::chosen_devices(settings.device))
//     miniapp::on_device(name, [&](auto device) { run_on(device, ...); });
//
// Include it in one file of a program, which nvcc compiles where there is Cuda; run_on is declared there and
// instantiated in files of its own (strata_add_device_sources): once for Serial, Threads and Tbb, which are
// handed to it as AnyHost.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/visit_device.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// The name of a device instance for people: "Threads", or "Cuda:1" where there are several.
template <class Device>
std::string device_text(const Device& device) {
  const std::string kind = device_name(device);
  return Device::count() > 1 ? kind + ":" + std::to_string(device.index()) : kind;
}

/// Calls f(device) for the device of a name; no name is the best device there is. Errors of visit_device.
template <class F>
void on_device(const std::string& name, const F& f) {
  if (name.empty()) visit_device<KernelDevices>(f);
  else visit_device<KernelDevices>(name, f);
}

/// The names to give on_device: what is listed, or all that this machine has; several are those of
/// device_text, by which their files are told apart. Those that the machine does not have stay as they are,
/// and are errors of visit_device. UsageError where two of them are one device, whose second run would
/// replace the files of the first.
inline std::vector<std::string> chosen_devices(const std::string& text) {
  if (text == "all") return device_names<AllDevices>();
  if (text.empty()) return {""};
  const std::vector<std::string> names = split(text, ',');
  if (names.size() < 2) return names;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::string device = name;
    try {
      if (!name.empty())
        device = visit_device<KernelDevices>(name, [](const auto& d) { return device_text(d); });
    } catch (const Error&) {  // its run will tell
    }
    const auto before = std::find(found.begin(), found.end(), device);
    if (!device.empty() && before != found.end())
      throw UsageError("--device " + text + ": " + names[static_cast<std::size_t>(before - found.begin())] +
                       " and " + name + " are the same device: name each once");
    found.push_back(device);
  }
  return found;
}

}  // namespace strata::inline STRATA_ABI::miniapp
