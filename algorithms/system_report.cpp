// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>

#include <strata/algorithms/build_info.hpp>
#include <strata/algorithms/device_list.hpp>
#include <strata/algorithms/system_report.hpp>
#include <strata/core/bytes.hpp>
#include <strata/core/error.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/host/control_group.hpp>
#include <strata/version.hpp>
#if STRATA_HAS_CUDA
#include <strata/devices/cuda/device.hpp>
#endif

namespace strata::inline STRATA_ABI {

using detail::profiling::json_quoted;

namespace {

// Calls work(); an error becomes the `problem` of a device that cannot be used, also an error of the system:
// no memory, no threads.
template <class Work>
void note_problem(DeviceDescription& device, const Work& work) {
  try {
    work();
  } catch (const RuntimeEnded&) {
    throw;
  } catch (const SettingError&) {
    throw;
  } catch (const std::exception& error) {
    device.problem = error.what();
  }
}

template <class D>
DeviceDescription describe(int instance) {
  DeviceDescription device;
  device.name = D::name;
  device.instance = instance;
  note_problem(device, [&] {
    const D handle(instance);
    const detail::DeviceInstance& backend = handle.backend();
    device.memory = backend.space().kind;
    device.capacity = static_cast<index_t>(backend.capacity());
    device.used = static_cast<index_t>(backend.used());
    if (device.capacity == 0 && backend.host_accessible()) device.capacity = detail::usable_memory();
    if constexpr (requires { handle.concurrency(); }) device.threads = handle.concurrency();
  });
  return device;
}

template <class D>
void append(std::vector<DeviceDescription>& all) {
  int count = 0;  // the first says why there is none, or why they cannot be counted
  DeviceDescription ignored;
  note_problem(ignored, [&] { count = D::count(); });
  for (int k = 0; k < std::max(count, 1); ++k) all.push_back(describe<D>(k));
}

const char* source_name(SettingSource source) {
  static constexpr const char* names[] = {"default", "environment", "command line", "program"};
  return names[static_cast<int>(source)];
}

std::string line_of(const DeviceDescription& device) {
  std::string line = "  " + device.name + "{" + std::to_string(device.instance) + "}: ";
  if (!device.problem.empty()) return line + "cannot be used: " + device.problem + "\n";
  line += "memory " + device.memory;
  if (device.capacity > 0) line += ", " + string_from_bytes(device.capacity);
  if (device.used > 0) line += ", of which Strata uses " + string_from_bytes(device.used);
  if (device.threads > 0) line += ", threads " + std::to_string(device.threads);
  return line + "\n";
}

std::string json_of(const DeviceDescription& device) {
  return "{\"name\": " + json_quoted(device.name) + ", \"instance\": " + std::to_string(device.instance) +
         ", \"memory\": " + json_quoted(device.memory) +
         ", \"capacity\": " + std::to_string(device.capacity) + ", \"used\": " + std::to_string(device.used) +
         ", \"threads\": " + std::to_string(device.threads) +
         ", \"problem\": " + json_quoted(device.problem) + "}";
}

std::string json_of(const SettingDescription& setting) {
  return "{\"name\": " + json_quoted(setting.name) + ", \"value\": " + json_quoted(setting.value) +
         ", \"source\": " + json_quoted(source_name(setting.source)) +
         ", \"initial\": " + json_quoted(setting.initial) + ", \"option\": " + json_quoted(setting.option) +
         ", \"variable\": " + json_quoted(setting.variable) + "}";
}

// "[\n    A,\n    B\n  ]" of what `text` makes of the items.
template <class Items, class Text>
std::string json_list(const Items& items, Text text) {
  std::string list = "[";
  const char* separator = "\n    ";
  for (const auto& item : items) {
    list += separator + text(item);
    separator = ",\n    ";
  }
  return list + "\n  ]";
}

}  // namespace

std::vector<DeviceDescription> describe_devices() {
  detail::require_running("describe_devices");
  std::vector<DeviceDescription> devices;
  AllDevices::for_each([&](auto device) { append<decltype(device)>(devices); });
#if STRATA_HAS_CUDA
  append<Cuda>(devices);  // which the list holds in the files of nvcc only
#endif
  return devices;
}

std::string system_report() {
  std::string text = version_text() + "\n\ndevices:\n";
  for (const DeviceDescription& device : describe_devices()) text += line_of(device);
  text += "\nsettings, and where they come from:\n";
  for (const SettingDescription& setting : describe_settings())
    text += "  " + setting.name + " = " + (setting.value.empty() ? "\"\"" : setting.value) + " (" +
            source_name(setting.source) + ")\n";
  return text;
}

std::string system_report_json() {
  const BuildInfo& build = build_info();
  return "{\n  \"version\": " + json_quoted(build.version) + ",\n  \"commit\": " + json_quoted(build.commit) +
         ",\n  \"compiler\": " + json_quoted(build.compiler) +
         ",\n  \"checked\": " + (build.checked ? "true" : "false") + ",\n  \"backends\": " +
         json_list(build.backends, [](const std::string& name) { return json_quoted(name); }) +
         ",\n  \"devices\": " +
         json_list(describe_devices(), [](const DeviceDescription& device) { return json_of(device); }) +
         ",\n  \"settings\": " +
         json_list(describe_settings(), [](const SettingDescription& setting) { return json_of(setting); }) +
         "\n}\n";
}

}  // namespace strata::inline STRATA_ABI
