// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/core/settings_table.hpp>

namespace strata::inline STRATA_ABI::detail {

namespace {

constexpr double unlimited = std::numeric_limits<double>::max();
constexpr Allowed any_value{-unlimited, unlimited};
constexpr Allowed between(double low, double high) { return {low, high}; }
constexpr Allowed at_least(double low) { return {low, unlimited}; }
constexpr Allowed not_empty = at_least(1);  // letters of a text
template <class... Words>
constexpr Allowed one_of(const Words&... words) {
  return {-unlimited, unlimited, {words...}};
}

std::string replaced(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

// Levenshtein's distance: the fewest letters to insert, remove or replace.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string text_of(int value) { return std::to_string(value); }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(const std::string& value) { return value; }
// The fewest digits that read back as the same number, without exponent where people expect none.
std::string text_of(double value) {
  const double magnitude = std::abs(value);
  const bool plain = value == 0 || (magnitude >= 1e-4 && magnitude < 1e15);
  char text[40];
  char* const end = text + sizeof text;
  const std::to_chars_result result = plain ? std::to_chars(text, end, value, std::chars_format::fixed)
                                            : std::to_chars(text, end, value, std::chars_format::general);
  return std::string(text, result.ptr);
}
// Never rounded: a printed value can be set again.
std::string text_of(index_t bytes) {
  const std::string text = string_from_bytes(bytes);
  return text.find('.') == std::string::npos ? text : std::to_string(bytes) + " B";
}

template <class T>
bool read_number(const std::string& text, T& value) {
  const std::from_chars_result result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool read(const std::string& text, int& value) { return read_number(text, value); }
bool read(const std::string& text, double& value) { return read_number(text, value); }
bool read(const std::string& text, bool& value) { return read_truth(text, value); }
bool read(const std::string& text, std::string& value) {
  value = text;
  return true;
}
bool read(const std::string& text, index_t& bytes) {
  try {
    bytes = bytes_from_string(text);
    return true;
  } catch (const SettingError&) {
    return false;  // the caller says more: which setting, and where the text came from
  }
}

// NaN is not allowed either.
bool is_allowed(const Setting& setting, double value) {
  return value >= setting.allowed.low && value <= setting.allowed.high;
}
bool is_allowed(const Setting& setting, int value) { return is_allowed(setting, static_cast<double>(value)); }
bool is_allowed(const Setting& setting, index_t value) {
  return is_allowed(setting, static_cast<double>(value));
}
bool is_allowed(const Setting&, bool) { return true; }
bool is_allowed(const Setting& setting, const std::string& value) {
  const auto& words = setting.allowed.words;
  if (words[0].empty()) return is_allowed(setting, static_cast<double>(value.size()));
  return !value.empty() && std::find(words.begin(), words.end(), value) != words.end();
}

[[noreturn]] void fail_value(const Setting& setting, const std::string& value, const std::string& origin) {
  throw SettingError("the setting " + std::string(setting.name) + " cannot be \"" + value + "\" (from " +
                     origin + "); expected " + expected_text(setting));
}

}  // namespace

constinit const std::array<Setting, setting_count> setting_table{{
#define STRATA_ROW(type, name, initial, allowed, description) {#name, &Settings::name, allowed, description},
    STRATA_SETTINGS(STRATA_ROW)
#undef STRATA_ROW
}};

std::string option_of(const std::string& name) { return "--strata-" + replaced(name, '_', '-'); }

std::string variable_of(const std::string& name) {
  std::string variable = "STRATA_" + name;
  for (char& c : variable)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return variable;
}

std::size_t find_setting(const std::string& name) {
  const std::string wanted = replaced(name, '-', '_');
  std::size_t i = 0;
  while (i < setting_count && wanted != setting_table[i].name) ++i;
  return i;
}

std::string nearest_setting(const std::string& name) {
  const std::string wanted = replaced(name, '-', '_');
  return std::min_element(setting_table.begin(), setting_table.end(),
                          [&](const Setting& a, const Setting& b) {
                            return edit_distance(wanted, a.name) < edit_distance(wanted, b.name);
                          })
      ->name;
}

std::string expected_text(const Setting& setting) {
  static constexpr const char* kinds[] = {"an integer", "true or false", "a number", "bytes (such as 512MiB)",
                                          "text"};
  const auto bound = [&](double value) {
    const bool bytes = std::holds_alternative<index_t Settings::*>(setting.field);
    return bytes ? text_of(static_cast<index_t>(value)) : text_of(value);
  };
  const auto& [low, high, words] = setting.allowed;
  if (!words[0].empty()) {
    std::string text = "one of";
    for (const std::string_view word : words)
      if (!word.empty()) text += (word == words[0] ? " " : ", ") + std::string(word);
    return text;
  }
  const std::string kind = kinds[setting.field.index()];
  if (low == -unlimited) return kind;
  if (std::holds_alternative<std::string Settings::*>(setting.field)) return kind + " that is not empty";
  if (high == unlimited) return kind + " of at least " + bound(low);
  return kind + " from " + bound(low) + " to " + bound(high);
}

std::string text_of(const Setting& setting, const Settings& values) {
  return std::visit([&](auto field) { return text_of(values.*field); }, setting.field);
}

bool read_truth(const std::string& text, bool& value) {
  static constexpr const char* words[] = {"false", "true", "0", "1", "off", "on", "no", "yes"};
  const auto* word = std::find(std::begin(words), std::end(words), text);
  if (word == std::end(words)) return false;
  value = (word - words) % 2 == 1;
  return true;
}

void read_setting(const Setting& setting, const std::string& text, const std::string& origin,
                  Settings& values) {
  std::visit(
      [&](auto field) {
        auto value = values.*field;
        if (!read(text, value) || !is_allowed(setting, value)) fail_value(setting, text, origin);
        values.*field = value;
      },
      setting.field);
}

void check_setting(const Setting& setting, const Settings& values, const std::string& origin) {
  std::visit(
      [&](auto field) {
        if (!is_allowed(setting, values.*field)) fail_value(setting, text_of(values.*field), origin);
      },
      setting.field);
}

void copy_setting(const Setting& setting, const Settings& from, Settings& to) {
  std::visit([&](auto field) { to.*field = from.*field; }, setting.field);
}

bool equal_setting(const Setting& setting, const Settings& a, const Settings& b) {
  return std::visit([&](auto field) { return a.*field == b.*field; }, setting.field);
}

}  // namespace strata::inline STRATA_ABI::detail
