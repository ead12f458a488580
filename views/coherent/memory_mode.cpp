// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>
#include <strata/views/coherent/memory_mode.hpp>

namespace strata::inline STRATA_ABI {

namespace {

constexpr const char* names[] = {"smart",    "pinned",          "managed", "mapped",
                                 "explicit", "explicit-pinned", "implicit"};

}  // namespace

const char* to_string(MemoryMode mode) { return names[static_cast<int>(mode)]; }

MemoryMode memory_mode_of(const std::string& name) {
  std::string all;
  for (std::size_t k = 0; k < std::size(names); ++k) {
    if (name == names[k]) return static_cast<MemoryMode>(k);
    all += (k == 0 ? "" : ", ") + std::string(names[k]);
  }
  throw SettingError("there is no memory mode \"" + name + "\"; there are " + all);
}

MemoryMode default_memory_mode() { return memory_mode_of(settings().memory); }

}  // namespace strata::inline STRATA_ABI
