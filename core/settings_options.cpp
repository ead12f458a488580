// Settings on the command line, those of Kokkos Tools among them, and the text of --strata-help.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>
#include <strata/core/settings_table.hpp>

namespace strata::inline STRATA_ABI {

using namespace detail;

namespace {

constexpr const char* prefix = "--strata-";

struct CommandLine {
  Settings values;
  ChosenSettings chosen{};
  std::vector<char*> rest;
  bool help = false;
};

const Setting& row_of_option(const std::string& option, CommandLine& line) {
  const std::string name = option.substr(std::strlen(prefix));
  const std::size_t index = find_setting(name);
  if (index == setting_count)
    throw SettingError("the option " + option + " is not a setting of Strata; the nearest one is " +
                       option_of(nearest_setting(name)) + " (--strata-help lists all)");
  line.chosen[index] = true;
  return setting_table[index];
}

// Whether the argument after argv[at] may be its value.
bool is_followed(int argc, char** argv, int at) {
  return at + 1 < argc && std::strncmp(argv[at + 1], "--", 2) != 0;
}

[[noreturn]] void fail_without_value(const std::string& option, const std::string& expected) {
  throw SettingError("the option " + option + " has no value; write " + option + "=VALUE, " + expected);
}

// Reads the option in argv[at]; returns the index of the last argument that belongs to it.
int read_option(int argc, char** argv, int at, CommandLine& line) {
  const std::string argument = argv[at];
  if (argument == "--strata-help") {
    line.help = true;
    return at;
  }
  const std::size_t equals = argument.find('=');
  const std::string option = argument.substr(0, equals);
  const std::string origin = "the command line, " + option;
  const Setting& setting = row_of_option(option, line);
  if (equals != std::string::npos) {
    read_setting(setting, argument.substr(equals + 1), origin, line.values);
    return at;
  }
  const bool followed = is_followed(argc, argv, at);
  if (const auto* truth = std::get_if<bool Settings::*>(&setting.field)) {
    line.values.** truth = true;
    return followed && read_truth(argv[at + 1], line.values.**truth) ? at + 1 : at;
  }
  if (!followed) fail_without_value(option, expected_text(setting));
  read_setting(setting, argv[at + 1], origin, line.values);
  return at + 1;
}

const char* source_text(SettingSource source) {
  static constexpr const char* texts[] = {"the default", "from the environment", "from the command line",
                                          "set by the program"};
  return texts[static_cast<int>(source)];
}

}  // namespace

bool parse_settings(int& argc, char** argv) {
  CommandLine line;
  int at = 0;
  if (argc > 0) line.rest.push_back(argv[at++]);
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    if (std::strncmp(argv[at], prefix, std::strlen(prefix)) == 0) at = read_option(argc, argv, at, line);
    else line.rest.push_back(argv[at]);
  }
  line.rest.insert(line.rest.end(), argv + at, argv + argc);

  apply_settings(line.values, line.chosen, SettingSource::CommandLine);
  if (static_cast<std::size_t>(argc) != line.rest.size()) {
    *std::copy(line.rest.begin(), line.rest.end(), argv) = nullptr;
    argc = static_cast<int>(line.rest.size());
  }
  if (line.help) std::fputs(settings_help().c_str(), stdout);
  return line.help;
}

bool detail::take_kokkos_options(int& argc, char** argv) {
  constexpr const char* names[] = {"--kokkos-tools-libs", "--kokkos-tools-args"};
  std::string settings_of[] = {option_of("tools_libs"), option_of("tools_args")};
  std::vector<std::string> taken{argc > 0 ? argv[0] : ""};
  std::vector<char*> rest(argv, argv + std::min(argc, 1));
  bool help = false;
  int at = 1;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    const std::string argument = argv[at];
    const std::string option = argument.substr(0, argument.find('='));
    const auto* const name = std::find(std::begin(names), std::end(names), option);
    if (argument == "--kokkos-tools-help") {
      help = true;
    } else if (name == std::end(names)) {
      rest.push_back(argv[at]);
    } else {
      const bool joined = option != argument;
      if (!joined && !is_followed(argc, argv, at)) fail_without_value(option, "text");
      taken.push_back(settings_of[name - names] + (joined ? argument.substr(option.size()) : "="));
      if (!joined) taken.back() += argv[++at];
    }
  }
  for (; at < argc; ++at) rest.push_back(argv[at]);
  if (rest.size() == static_cast<std::size_t>(argc)) return help;

  std::vector<char*> pointers;
  for (std::string& word : taken) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(taken.size());
  parse_settings(count, pointers.data());
  *std::copy(rest.begin(), rest.end(), argv) = nullptr;
  argc = static_cast<int>(rest.size());
  return help;
}

std::string settings_help() {
  std::string text =
      "Settings of Strata: --strata-NAME=VALUE or --strata-NAME VALUE on the command line, STRATA_NAME in "
      "the\n"
      "environment. What the program sets comes first, then the command line, the environment, the "
      "default.\n";
  for (const SettingDescription& setting : describe_settings())
    text += "\n  " + setting.option + "  (" + setting.variable + ")\n      " + setting.description +
            "\n      " + setting.expected + "; default " + setting.initial + "; now " + setting.value + ", " +
            source_text(setting.source) + "\n";
  return text;
}

}  // namespace strata::inline STRATA_ABI
