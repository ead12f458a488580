// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include <strata/core/bytes.hpp>
#include <strata/core/log.hpp>
#include <strata/miniapps/simulate/json_file.hpp>
#include <strata/miniapps/simulate/machine_file.hpp>

namespace strata::inline STRATA_ABI::simulate {

using miniapp::UsageError;
using nlohmann::json;
using tasks::DeviceId;
using tasks::host;

namespace {

index_t memory_of(const json& device, const std::string& where) {
  if (device.contains("memory") && device["memory"].is_number_integer())
    return device["memory"].get<index_t>();
  return memory_from_string(value_of<std::string>(device, "memory", where));
}

// Rates of kernels that were measured: those of a device of this kind, or else those of the file.
void add_measured(std::map<std::string, double>& rates, const std::string& kind,
                  const MeasuredKernels& measured) {
  for (const auto& [name, kernel] : measured) {
    const auto seconds = kernel.seconds.find(kind);
    const auto of_file = rates.find(kernel.kernel);
    if (seconds != kernel.seconds.end()) rates[name] = kernel.work / seconds->second;
    else if (of_file != rates.end()) rates[name] = of_file->second;
  }
}

struct Device {
  tasks::MachineDevice device;
  std::string kind;
};

std::vector<Device> devices_of(const json& content, const std::string& where,
                               const MeasuredKernels& measured) {
  std::vector<Device> devices;
  for (const json& entry : value_of<json>(content, "devices", where)) {
    const std::string what = "a device of " + where;
    const std::string name = value_of<std::string>(entry, "name", what);
    const index_t count = value_of<index_t>(entry, "count", what, 1);
    if (count < 1 || count > 1024)
      throw UsageError("\"count\" of " + what + " is " + std::to_string(count) +
                       ": there are 1 to 1024 of one");
    auto rates = value_of<std::map<std::string, double>>(entry, "rates", what);
    const std::string kind = value_of<std::string>(entry, "kind", what, "");
    add_measured(rates, kind, measured);
    for (index_t k = 0; k < count; ++k)
      devices.push_back(
          {{count == 1 ? name : name + ":" + std::to_string(k), memory_of(entry, what), rates}, kind});
  }
  return devices;
}

template <class Map>
std::string keys_of(const Map& kinds) {
  std::string text;
  for (const auto& [kind, ignored] : kinds) text += (text.empty() ? "\"" : ", \"") + kind + "\"";
  return text;
}

// Kernels are named here as the graph's file has them.
void check_measured(const std::vector<Device>& devices, const std::string& where,
                    const MeasuredKernels& measured) {
  std::map<std::string, double> kinds;  // of which there are times
  for (const auto& [name, kernel] : measured) kinds.insert(kernel.seconds.begin(), kernel.seconds.end());
  std::set<std::string> others;
  for (const auto& [device, kind] : devices)
    if (!kinds.empty() && kinds.count(kind) == 0 && others.insert(kind).second)
      detail::log_message(
          LogLevel::Warning,
          "%s: the device \"%s\" %s, and the graph has times of %s: its tasks take what its rates say",
          where.c_str(), device.name.c_str(),
          kind.empty() ? "has no \"kind\"" : ("is of the kind \"" + kind + "\"").c_str(),
          keys_of(kinds).c_str());
  for (const auto& [name, kernel] : measured)
    if (std::none_of(devices.begin(), devices.end(), [&, &name = name](const Device& its) {
          return its.device.rates.count(name) + its.device.rates.count("*") > 0;
        }))
      throw UsageError(where + " has no rate of the kernel \"" + kernel.kernel +
                       "\" on any device, and the graph has times of it on devices of the kind " +
                       keys_of(kernel.seconds) + ": give a device such a \"kind\", or a rate of \"" +
                       kernel.kernel + "\", or of \"*\" for all kernels");
}

std::string name_of(DeviceId device) { return device == host ? "host" : std::to_string(device); }

// The memories that one end of a link names: "host", a number, or "*", all devices.
std::vector<DeviceId> ends_of(const json& end, std::size_t devices, const std::string& where) {
  std::vector<DeviceId> ends;
  if (end == "host") return {host};
  if (end.is_number_integer()) return {end.get<DeviceId>()};
  if (end != "*")
    throw UsageError(where + " joins " + end.dump() +
                     R"(: an end is "host", the number of a device, or "*")");
  for (std::size_t k = 0; k < devices; ++k) ends.push_back(static_cast<DeviceId>(k));
  return ends;
}

}  // namespace

index_t memory_from_string(const std::string& text) {
  try {
    std::string unit = text.substr(std::min(text.size(), text.find_last_of("0123456789. ") + 1));
    std::transform(unit.begin(), unit.end(), unit.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    int power = 0;
    for (const char* decimal : {"kb", "mb", "gb", "tb"}) {
      ++power;
      if (unit != decimal) continue;
      const double count =
          miniapp::to_number(text.substr(0, text.find_last_of("0123456789.") + 1), "a memory");
      const double bytes = count * std::pow(1000.0, power);
      if (!(bytes >= 1 && bytes < 9e18)) throw UsageError("there is no memory of " + text);
      return static_cast<index_t>(bytes);
    }
    return bytes_from_string(text);
  } catch (const SettingError& error) {
    throw UsageError(error.what());
  }
}

tasks::Machine read_machine(const std::string& path, index_t devices, index_t memory,
                            const MeasuredKernels& measured) {
  const json content = read_json(path);
  const std::string where = "\"" + path + "\"";
  std::vector<Device> all = devices_of(content, where, measured);
  if (devices < 1 || devices > static_cast<index_t>(all.size()))
    throw UsageError("--devices " + std::to_string(devices) + ": the machine of " + where + " has " +
                     std::to_string(all.size()));
  const std::size_t there = all.size();
  all.resize(static_cast<std::size_t>(devices));
  check_measured(all, where, measured);
  std::vector<tasks::MachineDevice> parts;
  for (const auto& [device, kind] : all) {
    parts.push_back(device);
    if (memory > 0) parts.back().memory = memory;
  }

  std::vector<tasks::Link> links;
  std::vector<tasks::Joint> joints;
  for (const json& entry : value_of<json>(content, "links", where, json::array())) {
    const std::string what = "a link of " + where;
    const tasks::Link link{
        value_of<std::string>(entry, "name", what), value_of<double>(entry, "bytes_per_second", what),
        value_of<double>(entry, "latency", what, 0.0), value_of<bool>(entry, "duplex", what, true)};
    const bool is_separate = value_of<bool>(entry, "separate", what, false);
    if (!is_separate) links.push_back(link);
    for (const json& ends : value_of<json>(entry, "joins", what)) {
      if (!ends.is_array() || ends.size() != 2)
        throw UsageError(what + " joins " + ends.dump() + ": two ends are needed");
      for (const DeviceId first : ends_of(ends[0], there, what))
        for (const DeviceId second : ends_of(ends[1], there, what)) {
          for (const DeviceId end : {first, second})
            if (end < host || end >= static_cast<DeviceId>(there))
              throw UsageError(what + " joins the device " + std::to_string(end) + ", and there are " +
                               std::to_string(there));
          if (first == second || first >= devices || second >= devices) continue;
          if (ends[0] == ends[1] && second < first) continue;  // each pair of "*" once
          if (is_separate) {
            links.push_back(link);
            links.back().name += " " + name_of(first) + "-" + name_of(second);
          }
          joints.push_back({first, second, static_cast<int>(links.size()) - 1});
        }
    }
  }
  return tasks::Machine(value_of<std::string>(content, "name", where), std::move(parts), std::move(links),
                        std::move(joints));
}

}  // namespace strata::inline STRATA_ABI::simulate
