// The command line without a library.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

std::string help_line(std::string names, const std::string& text) {
  names = "  " + names;
  if (names.size() < 35) return names + std::string(36 - names.size(), ' ') + text + "\n";
  return names + "\n" + std::string(36, ' ') + text + "\n";
}

std::string help_text(const std::string& program, const std::string& purpose,
                      const std::vector<OptionEntry>& table) {
  std::string text = purpose + "\nUsage: " + program + " [OPTIONS]\n\nOptions:\n";
  text += help_line("-h,--help", "this text");
  text += help_line("--version", "version, commit, compiler and devices of this build");
  text += help_line("--config FILE.json", "a file of options, as the report has them");
  for (const OptionEntry& entry : table) {
    std::string names = (entry.short_name.empty() ? "" : "-" + entry.short_name + ",") + "--" + entry.name;
    if (!entry.is_flag()) names += " " + entry.takes;
    std::string help = entry.help;
    for (std::size_t k = 0; k < entry.choices.size(); ++k) help += (k == 0 ? ": " : ", ") + entry.choices[k];
    if (entry.is_list()) help += " (may be repeated)";
    if (!entry.is_flag() && !entry.default_text.empty()) help += " [" + entry.default_text + "]";
    text += help_line(names, help);
  }
  return text;
}

// Goes through the arguments, one after the other.
class Reader {
 public:
  Reader(const std::string& program, const std::vector<OptionEntry>& table, int argc, const char* const* argv)
      : program_(program), table_(table), arguments_(argv + std::min(argc, 1), argv + argc) {}

  ParsedArguments read() {
    while (next_ < arguments_.size()) {
      const std::string argument = arguments_[next_++];
      if (argument == "--") {  // no options follow, and nothing else is taken
        if (next_ < arguments_.size()) refuse(arguments_[next_]);
      } else if (argument.starts_with("--")) {
        read_long(argument);
      } else if (argument.size() > 1 && argument[0] == '-') {
        read_short(argument);
      } else {
        refuse(argument);
      }
    }
    return std::move(parsed_);
  }

 private:
  [[noreturn]] void refuse(const std::string& argument) const {
    fail_unknown_argument(program_, table_, argument);
  }

  // --name VALUE, --name=VALUE
  void read_long(const std::string& argument) {
    const std::size_t at = argument.find('=');
    const std::string name = argument.substr(2, at - 2);
    if (at + 1 == argument.size()) fail_missing_value(program_, argument);
    const bool has_value = at != std::string::npos;
    const std::string value = has_value ? argument.substr(at + 1) : "";
    if (name == "help") {
      parsed_.help = true;
    } else if (name == "version") {
      parsed_.version = true;
    } else if (name == "config") {
      parsed_.config = has_value ? value : next_value(argument);
    } else {
      const auto entry =
          std::find_if(table_.begin(), table_.end(), [&](const OptionEntry& e) { return e.name == name; });
      if (entry == table_.end()) refuse(argument);
      const std::string taken = has_value ? value : entry->is_flag() ? "true" : next_value(argument);
      parsed_.values.emplace_back(entry - table_.begin(), taken);
    }
  }

  // -n VALUE, -nVALUE, and flags before them
  void read_short(const std::string& argument) {
    for (std::size_t k = 1; k < argument.size(); ++k) {
      const std::string letter(1, argument[k]);
      if (letter == "h") {
        parsed_.help = true;
        continue;
      }
      const auto entry = std::find_if(table_.begin(), table_.end(),
                                      [&](const OptionEntry& e) { return e.short_name == letter; });
      if (entry == table_.end()) refuse("-" + argument.substr(k));
      const auto row = static_cast<std::size_t>(entry - table_.begin());
      if (entry->is_flag()) {
        parsed_.values.emplace_back(row, "true");
        continue;
      }
      const std::string rest = argument.substr(k + 1);
      parsed_.values.emplace_back(row, rest.empty() ? next_value(argument) : rest);
      return;
    }
  }

  std::string next_value(const std::string& option) {
    if (next_ == arguments_.size()) fail_missing_value(program_, option);
    return arguments_[next_++];
  }

  const std::string& program_;
  const std::vector<OptionEntry>& table_;
  const std::vector<std::string> arguments_;
  std::size_t next_ = 0;
  ParsedArguments parsed_;
};

}  // namespace

ParsedArguments parse_arguments(const std::string& program, const std::string& purpose,
                                const std::vector<OptionEntry>& table, int argc, const char* const* argv) {
  ParsedArguments parsed = Reader(program, table, argc, argv).read();
  if (parsed.help) parsed.help_text = help_text(program, purpose, table);
  return parsed;
}

}  // namespace strata::inline STRATA_ABI::miniapp
