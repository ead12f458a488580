// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include <strata/algorithms/visit_device.hpp>
#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/core/settings.hpp>
#include <strata/version.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

using List = std::span<const ListedDevice>;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// "Cuda:1" and "Cuda{1}" taken apart; without a number the first instance is meant.
struct Asked {
  std::string type;
  int instance = 0;
  bool readable = true;
};
Asked read_name(const std::string& name) {
  const std::size_t mark = name.find_first_of(":{");
  Asked asked{lower(std::string_view(name).substr(0, mark))};
  if (mark == std::string::npos) return asked;
  std::string_view digits = std::string_view(name).substr(mark + 1);
  if (name[mark] == '{') {
    asked.readable = digits.ends_with('}');
    if (asked.readable) digits.remove_suffix(1);
  }
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result read = std::from_chars(digits.data(), end, asked.instance);
  asked.readable = asked.readable && read.ec == std::errc() && read.ptr == end && asked.instance >= 0;
  return asked;
}

int find_type(List list, const std::string& lower_name) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (lower(list[k].name) == lower_name) return static_cast<int>(k);
  return -1;
}

DeviceChoice best_device(List list) {
  const std::string& host = settings().host_device;
  for (const std::string& name :
       {std::string("cuda"), host, std::string("threads"), std::string("tbb"), std::string("serial")})
    if (const int type = find_type(list, name); type >= 0 && list[type].count() > 0) return {type, 0};
  const auto there =
      std::find_if(list.begin(), list.end(), [](const ListedDevice& d) { return d.count() > 0; });
  return {there == list.end() ? 0 : static_cast<int>(there - list.begin()), 0};
}

std::string there_are(List list) {
  std::string text = "; there are";
  const char* separator = " ";
  for (const std::string& name : names_of_devices(list.data(), static_cast<int>(list.size()))) {
    text += separator + name;
    separator = ", ";
  }
  return separator[0] == ' ' ? "; there is no device" : text;
}

// Why a device is not in the list, and what to do about it; empty for names that Strata does not know.
std::string reason_of_absence(const std::string& lower_name) {
  const std::string list = "it is not in the list that the call of visit_device was given";
  if (lower_name == "cuda") {
    if (STRATA_HAS_CUDA == 0)
      return "this build of Strata has no Cuda; configure it with STRATA_ENABLE_CUDA=ON";
    return "the file that calls visit_device is not compiled by nvcc, or its list leaves Cuda out; name the "
           "file in strata_add_kernels()";
  }
  if (lower_name == "tbb" && STRATA_HAS_TBB == 0)
    return "this build of Strata has no Tbb; configure it with STRATA_ENABLE_TBB=ON";
  for (const char* const known : {"serial", "threads", "tbb", "emulated", "cudamanaged", "cudapinned"})
    if (lower_name == known) return list;
  return "";
}

DeviceChoice choose(const std::string& name, List list, const std::string& origin) {
  const std::string asked_text = origin + "\"" + name + "\": ";
  const Asked asked = read_name(name);
  if (!asked.readable)
    throw NoSuchDevice(asked_text + "the number of an instance is written as in Cuda:1" + there_are(list));
  DeviceChoice choice{};
  if (name.empty() || lower(name) == "default") {
    choice = best_device(list);
    log_message(LogLevel::Info, "nobody named a device, so it is %s:%d (the setting device)",
                list[choice.type].name, choice.instance);
  } else {
    choice = {find_type(list, asked.type), asked.instance};
    if (choice.type < 0) {
      const std::string reason = reason_of_absence(asked.type);
      throw NoSuchDevice(asked_text + (reason.empty() ? "there is no such device" : reason) +
                         there_are(list));
    }
  }
  try {
    list[choice.type].require(choice.instance);
  } catch (const NoSuchDevice& error) {
    throw NoSuchDevice(asked_text + error.what() + there_are(list));
  }
  return choice;
}

List as_list(const ListedDevice* list, int size) { return {list, static_cast<std::size_t>(size)}; }

}  // namespace

DeviceChoice choose_device(const std::string& name, const ListedDevice* list, int size) {
  return choose(name, as_list(list, size), "the device ");
}

DeviceChoice choose_device_of_setting(const ListedDevice* list, int size) {
  return choose(settings().device, as_list(list, size),
                "the setting device (--strata-device, STRATA_DEVICE), ");
}

std::vector<std::string> names_of_devices(const ListedDevice* list, int size) {
  std::vector<std::string> names;
  for (const ListedDevice& device : as_list(list, size)) {
    const int count = device.count();
    for (int k = 0; k < count; ++k)
      names.push_back(count == 1 ? device.name : device.name + (":" + std::to_string(k)));
  }
  return names;
}

}  // namespace strata::inline STRATA_ABI::detail
