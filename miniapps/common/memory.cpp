// SPDX-License-Identifier: Apache-2.0
#include <strata/core/settings.hpp>
#include <strata/miniapps/common/memory.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

const char* const default_name = "default";

// Whether somebody has chosen the mode of all arrays.
bool is_memory_set() {
  for (const SettingDescription& setting : describe_settings())
    if (setting.name == "memory") return setting.source != SettingSource::BuiltIn;
  return false;
}

}  // namespace

void declare_memory(Options& options, std::string& name) {
  options.add(
      "--memory", &name, "MODE",
      "how arrays lie in memory; default: as the setting memory says where it is given, else as is "
      "fastest",
      {default_name, "smart", "pinned", "managed", "mapped", "explicit", "explicit-pinned", "implicit"});
}

MemoryChoice memory_choice(const std::string& name) {
  if (name == default_name) return is_memory_set() ? MemoryChoice(default_memory_mode()) : MemoryChoice();
  try {
    return memory_mode_of(name);
  } catch (const SettingError& error) {
    throw UsageError(std::string("--memory: ") + error.what());
  }
}

void refuse_explicit(const MemoryChoice& choice, const std::string& what, const std::string& why) {
  if (!choice || !is_explicit(*choice)) return;
  throw UsageError(what + ": the memory mode " + to_string(*choice) +
                   " copies only where the program asks for it, and here the library decides that: " + why +
                   "; take --memory smart, pinned, managed, mapped or implicit");
}

}  // namespace strata::inline STRATA_ABI::miniapp
