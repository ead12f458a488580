// The table of settings: names, allowed values, and each value to and from text. Private to the settings: no
// state, every function is pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include <strata/core/settings.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The allowed values: of a number, bounds included, or of a text.
struct Allowed {
  double low;
  double high;
  std::array<std::string_view, 7> words{};  // the only texts; none: any text of that many letters
};

/// One row: the field of Settings, and its entries in STRATA_SETTINGS.
struct Setting {
  using Field = std::variant<int Settings::*, bool Settings::*, double Settings::*, index_t Settings::*,
                             std::string Settings::*>;
  const char* name;
  Field field;
  Allowed allowed;
  const char* description;
};

#define STRATA_COUNT(type, name, initial, allowed, description) +1
inline constexpr std::size_t setting_count = 0 STRATA_SETTINGS(STRATA_COUNT);
#undef STRATA_COUNT

extern const std::array<Setting, setting_count> setting_table;

/// "--strata-emulated-count" of "emulated_count".
std::string option_of(const std::string& name);
/// "STRATA_EMULATED_COUNT" of "emulated_count".
std::string variable_of(const std::string& name);
/// The row of a name, in which '-' may stand for '_'; setting_count if there is none.
std::size_t find_setting(const std::string& name);
/// The name of the setting with the fewest changed letters from `name`.
std::string nearest_setting(const std::string& name);

/// The values that are allowed: "an integer from 1 to 16".
std::string expected_text(const Setting& setting);
/// The value in `values`, as it can be set again.
std::string text_of(const Setting& setting, const Settings& values);

/// True for true, 1, on, yes, false, 0, off and no; stores which.
bool read_truth(const std::string& text, bool& value);
/// Reads `text` into its field of `values`; SettingError, naming `origin`, when it does not fit.
void read_setting(const Setting& setting, const std::string& text, const std::string& origin,
                  Settings& values);
/// SettingError, naming `origin`, when the field of `values` is not allowed.
void check_setting(const Setting& setting, const Settings& values, const std::string& origin);
void copy_setting(const Setting& setting, const Settings& from, Settings& to);
bool equal_setting(const Setting& setting, const Settings& a, const Settings& b);

/// Takes `--kokkos-tools-libs` and `--kokkos-tools-args` (=VALUE or VALUE) out of the command line, up to an
/// argument `--`, and sets tools_libs and tools_args by them. True when `--kokkos-tools-help` was among them.
/// SettingError for an option without a value. In settings_options.cpp.
bool take_kokkos_options(int& argc, char** argv);

/// For each row, whether a caller gives it a value.
using ChosenSettings = std::array<bool, setting_count>;

/// Applies the chosen ones of `values`, except where a stronger source has set the value already. In
/// settings.cpp.
void apply_settings(const Settings& values, const ChosenSettings& chosen, SettingSource source);

}  // namespace strata::inline STRATA_ABI::detail
