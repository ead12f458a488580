// Reading JSON files with messages that name the file and what is missing in it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::simulate {

/// The content of a file. UsageError.
inline nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw miniapp::UsageError("the file \"" + path + "\" cannot be read");
  try {
    return nlohmann::json::parse(file);
  } catch (const nlohmann::json::exception& error) {
    throw miniapp::UsageError("\"" + path + "\" is not JSON: " + error.what());
  }
}

/// What stands under `key` in an object; UsageError where it is missing or of another type. `where`: the
/// object, in words.
template <class T>
T value_of(const nlohmann::json& object, const std::string& key, const std::string& where) {
  if (!object.is_object() || !object.contains(key))
    throw miniapp::UsageError(where + " needs \"" + key + "\"");
  try {
    return object.at(key).get<T>();
  } catch (const nlohmann::json::exception&) {
    throw miniapp::UsageError("\"" + key + "\" of " + where + " is " + object.at(key).dump() +
                              ", which is of the wrong type");
  }
}
template <class T>
T value_of(const nlohmann::json& object, const std::string& key, const std::string& where, T otherwise) {
  return object.is_object() && object.contains(key) ? value_of<T>(object, key, where) : otherwise;
}

}  // namespace strata::inline STRATA_ABI::simulate
