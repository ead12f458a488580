// The command line without a library: --name VALUE, --name=VALUE, -n VALUE, and flags.
#include <algorithm>

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

}  // namespace

ParsedArguments parse_arguments(const std::string& program, const std::string& purpose,
                                const std::vector<OptionEntry>& table, int argc, const char* const* argv) {
  ParsedArguments parsed;
  const auto refuse = [&](const std::string& what) {
    throw UsageError(what + "\n" + program + " --help lists the options");
  };
  for (int k = 1; k < argc; ++k) {
    std::string argument = argv[k], value;
    bool has_value = false;
    if (const std::size_t at = argument.find('='); argument.starts_with("--") && at != std::string::npos) {
      value = argument.substr(at + 1);
      argument.resize(at);
      has_value = true;
    }
    if (argument == "-h" || argument == "--help") {
      parsed.help = true;
      continue;
    }
    if (argument == "--version") {
      parsed.version = true;
      continue;
    }
    const auto entry = std::find_if(table.begin(), table.end(), [&](const OptionEntry& e) {
      return argument == "--" + e.name || (!e.short_name.empty() && argument == "-" + e.short_name);
    });
    if (entry == table.end() && argument != "--config") refuse("there is no option " + argument);
    if (entry != table.end() && entry->is_flag()) {
      parsed.values.emplace_back(entry - table.begin(), has_value ? value : "true");
      continue;
    }
    if (!has_value) {
      if (k + 1 >= argc) refuse(argument + " needs a value");
      value = argv[++k];
    }
    if (entry == table.end()) parsed.config = value;
    else parsed.values.emplace_back(entry - table.begin(), value);
  }
  if (parsed.help) parsed.help_text = help_text(program, purpose, table);
  return parsed;
}

}  // namespace strata::inline STRATA_ABI::miniapp
