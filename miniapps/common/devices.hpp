// The devices of --device: which ones a program runs on.
//
//   for (const std::string& name : miniapp::chosen_devices(settings.device))
//     miniapp::visit(name, [&](const auto& device) { run_on(device, ...); });
//
// Include it in one file of a program, which nvcc compiles where programs are built with Cuda; run_on is
// declared there and instantiated in files of its own (strata_add_device_sources).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <strata/algorithms/visit_device.hpp>
#include <strata/core/error.hpp>
#include <strata/miniapps/common/kernel_device.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/version.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// Calls f(device) with the device of that name, of the types of KernelDevices; no name is the best there is.
/// NoSuchDevice.
template <class F>
void visit(const std::string& name, const F& f) {
#if STRATA_HAS_CUDA && !defined(__CUDACC__)
  if (name.size() >= 4 && (name[0] == 'c' || name[0] == 'C') && name.compare(1, 3, "uda") == 0)
    throw NoSuchDevice(
        "the device \"" + name +
        "\": this program is built without Cuda, as where no GPU is found to run it; configure "
        "with -DSTRATA_BUILD_CUDA_PROGRAMS=ON");
#endif
  if (name.empty()) visit_device<KernelDevices>(f);
  else visit_device<KernelDevices>(name, f);
}

/// The names to give visit(): what is listed, or all that this machine has; several are those of
/// device_text, by which their files are distinguished. Those that the machine does not have stay as they
/// are, and are errors of visit(). UsageError where two of them are one device, whose second run would
/// replace the files of the first.
inline std::vector<std::string> chosen_devices(const std::string& text) {
  if (text == "all") return device_names<KernelDevices>();
  if (text.empty()) return {""};
  const std::vector<std::string> names = split(text, ',');
  if (names.size() < 2) return names;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::string device = name;
    try {
      if (!name.empty())
        device = visit_device<KernelDevices>(name, [](const auto& d) { return device_text(d); });
    } catch (const Error&) {  // its run will report it
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
