// Files of parameters: a JSON object with a member for each option that is given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// A member of the object.
struct ConfigValue {
  std::string name;
  std::vector<std::string> texts;  // one, or the elements of a list
};

/// The members, in the order of the file. UsageError when it cannot be read or is no such object. Members
/// named "comment" are for people.
std::vector<ConfigValue> read_config_file(const std::string& path);

/// The values of all options as such an object.
std::string config_text(const std::vector<OptionEntry>& table);

}  // namespace strata::inline STRATA_ABI::miniapp
