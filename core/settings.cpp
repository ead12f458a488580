// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <strata/core/error.hpp>
#include <strata/core/log.hpp>
#include <strata/core/settings.hpp>
#include <strata/core/settings_table.hpp>

namespace strata::inline STRATA_ABI {

using namespace detail;

namespace {

struct Snapshot {
  Settings values;
  std::array<SettingSource, setting_count> sources{};
};

struct SettingsState {
  std::mutex mutex;
  std::deque<Snapshot> history;  // grows only, at the end: a snapshot never moves or changes
  std::set<std::string> warned;
};

// The last of the history, for readers without the mutex; null until the environment has been read.
constinit std::atomic<const Snapshot*> current{nullptr};

// Never destroyed, so that static destructors may still read settings.
SettingsState& settings_state() {
  static auto* const instance = new SettingsState;
  return *instance;
}

// The functions that take a SettingsState need its mutex held.

void publish(SettingsState& s, Snapshot next) {
  s.history.push_back(std::move(next));
  const Settings& values = s.history.back().values;
  detail::set_log_level(values.log.c_str());
  if (detail::logs(LogLevel::Debug)) {
    const Settings before = s.history.size() > 1 ? s.history[s.history.size() - 2].values : Settings();
    for (const Setting& setting : setting_table)
      if (!equal_setting(setting, before, values))
        detail::log_message(LogLevel::Debug, "the setting %s is %s", setting.name,
                            text_of(setting, values).c_str());
  }
  current.store(&s.history.back(), std::memory_order_release);
}

void warn_of_variable(SettingsState& s, const std::string& variable) {
  if (!s.warned.insert(variable).second) return;
  std::string name = variable.substr(std::strlen("STRATA_"));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  detail::log_message(LogLevel::Warning,
                      "the environment variable %s is not a setting of Strata and is ignored; the nearest "
                      "one is %s",
                      variable.c_str(), variable_of(nearest_setting(name)).c_str());
}

// What names a library to load, or a file to write: of a program with more rights than its user
// (set-user-ID), the environment is the user's, and may not say so.
bool is_trusted(const Setting& setting, const std::string& variable) {
  const std::string_view name = setting.name;
  if (name != "tools_libs" && name != "tools_args" && name != "trace" && name != "counters") return true;
  if (secure_getenv(variable.c_str()) != nullptr) return true;
  detail::log_message(LogLevel::Warning,
                      "the environment variable %s is ignored, as this program has other rights than "
                      "its user; give the option %s",
                      variable.c_str(), option_of(setting.name).c_str());
  return false;
}

Snapshot read_environment(SettingsState& s) {
  Snapshot first;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || !text.starts_with("STRATA_")) continue;
    const std::string variable = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    const auto* const row =
        std::find_if(setting_table.begin(), setting_table.end(),
                     [&](const Setting& setting) { return variable == variable_of(setting.name); });
    if (row == setting_table.end()) {
      // Linear algebra reads it when it looks for a library (algorithms/linear/tiled/host_blas.hpp).
      if (variable != "STRATA_HOST_BLAS") warn_of_variable(s, variable);
    } else if (!value.empty() && is_trusted(*row, variable)) {
      read_setting(*row, value, "the environment variable " + variable, first.values);
      first.sources[static_cast<std::size_t>(row - setting_table.begin())] = SettingSource::Environment;
    }
  }
  return first;
}

const Snapshot& snapshot(SettingsState& s) {
  if (current.load(std::memory_order_relaxed) == nullptr) publish(s, read_environment(s));
  return *current.load(std::memory_order_relaxed);
}

const Snapshot& snapshot() {
  if (const Snapshot* now = current.load(std::memory_order_acquire)) [[likely]]
    return *now;
  SettingsState& s = settings_state();
  const std::lock_guard lock(s.mutex);
  return snapshot(s);
}

void apply(SettingsState& s, const Settings& values, const ChosenSettings& chosen, SettingSource source) {
  const Snapshot& now = snapshot(s);
  Snapshot next = now;
  for (std::size_t i = 0; i < setting_count; ++i) {
    if (!chosen[i] || next.sources[i] > source) continue;
    copy_setting(setting_table[i], values, next.values);
    next.sources[i] = source;
  }
  if (next.values != now.values || next.sources != now.sources) publish(s, std::move(next));
}

}  // namespace

void detail::apply_settings(const Settings& values, const ChosenSettings& chosen, SettingSource source) {
  SettingsState& s = settings_state();
  const std::lock_guard lock(s.mutex);
  apply(s, values, chosen, source);
}

void detail::forget_settings() {
  const std::lock_guard lock(settings_state().mutex);
  current.store(nullptr, std::memory_order_release);
}

const Settings& settings() { return snapshot().values; }

void set_setting(const std::string& name, const std::string& value) {
  const std::size_t index = find_setting(name);
  if (index == setting_count)
    throw SettingError("there is no setting \"" + name + "\"; the nearest one is " + nearest_setting(name) +
                       " (--strata-help lists all)");
  Settings values;
  ChosenSettings chosen{};
  read_setting(setting_table[index], value, "set_setting", values);
  chosen[index] = true;
  apply_settings(values, chosen, SettingSource::Program);
}

template <class T>
void set_setting(T Settings::*field, const std::type_identity_t<T>& value) {
  Settings values;
  ChosenSettings chosen{};
  values.*field = value;
  for (std::size_t i = 0; i < setting_count; ++i) {
    if (setting_table[i].field != Setting::Field(field)) continue;
    check_setting(setting_table[i], values, "set_setting");
    chosen[i] = true;
  }
  apply_settings(values, chosen, SettingSource::Program);
}

template void set_setting(int Settings::*, const int&);
template void set_setting(bool Settings::*, const bool&);
template void set_setting(double Settings::*, const double&);
template void set_setting(index_t Settings::*, const index_t&);
template void set_setting(std::string Settings::*, const std::string&);

void update_settings(const Settings& wanted) {
  SettingsState& s = settings_state();
  const std::lock_guard lock(s.mutex);
  ChosenSettings chosen{};
  for (std::size_t i = 0; i < setting_count; ++i) {
    chosen[i] = !equal_setting(setting_table[i], wanted, snapshot(s).values);
    if (chosen[i]) check_setting(setting_table[i], wanted, "update_settings");
  }
  apply(s, wanted, chosen, SettingSource::Program);
}

std::vector<SettingDescription> describe_settings() {
  const Snapshot& now = snapshot();
  std::vector<SettingDescription> all;
  for (std::size_t i = 0; i < setting_count; ++i) {
    const Setting& row = setting_table[i];
    all.push_back({.name = row.name,
                   .option = option_of(row.name),
                   .variable = variable_of(row.name),
                   .expected = expected_text(row),
                   .initial = text_of(row, Settings{}),
                   .value = text_of(row, now.values),
                   .source = now.sources[i],
                   .description = row.description});
  }
  return all;
}

}  // namespace strata::inline STRATA_ABI
