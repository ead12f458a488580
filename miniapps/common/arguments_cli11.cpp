// The command line by CLI11.
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <strata/miniapps/common/options.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

std::string cli_names(const OptionEntry& entry) {
  return (entry.short_name.empty() ? "" : "-" + entry.short_name + ",") + "--" + entry.name;
}

std::string help_of(const OptionEntry& entry) {
  std::string text = entry.help;
  for (std::size_t k = 0; k < entry.choices.size(); ++k) text += (k == 0 ? ": " : ", ") + entry.choices[k];
  if (entry.is_list()) text += " (may be repeated)";
  if (!entry.is_flag() && !entry.default_text.empty()) text += " [" + entry.default_text + "]";
  return text;
}

// "--mesh="
bool is_empty_assignment(const std::string& argument) {
  return argument.starts_with("--") && argument.find('=') == argument.size() - 1;
}

}  // namespace

ParsedArguments parse_arguments(const std::string& program, const std::string& purpose,
                                const std::vector<OptionEntry>& table, int argc, const char* const* argv) {
  ParsedArguments parsed;
  CLI::App app(purpose, program);
  app.get_formatter()->column_width(36);
  app.set_help_flag();
  app.add_flag("-h,--help", parsed.help, "this text");
  app.add_flag("--version", parsed.version, "version, commit, compiler and devices of this build");
  app.add_option("--config", parsed.config, "a file of options, as the report has them")
      ->type_name("FILE.json")
      ->take_last();
  app.allow_extras();  // they are refused below, in words of our own
  std::vector<std::vector<std::string>> texts(table.size());
  for (std::size_t k = 0; k < table.size(); ++k) {
    const OptionEntry& entry = table[k];
    if (entry.is_flag()) {
      app.add_flag(cli_names(entry), texts[k], help_of(entry));
    } else {
      app.add_option(cli_names(entry), texts[k], help_of(entry))
          ->type_name(entry.takes)
          ->expected(1)
          ->allow_extra_args(false)  // a second value would be taken for the option too
          ->multi_option_policy(entry.is_list() ? CLI::MultiOptionPolicy::TakeAll
                                                : CLI::MultiOptionPolicy::TakeLast);
    }
  }
  for (int k = 1; k < argc; ++k)  // CLI11 takes the next argument for the value
    if (const std::string argument = argv[k]; is_empty_assignment(argument))
      fail_missing_value(program, argument);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ArgumentMismatch&) {  // only the last argument can be without
    fail_missing_value(program, argv[argc - 1]);
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "\n" + program + " --help lists the options");
  }
  for (const std::string& argument : app.remaining())
    if (argument != "--") fail_unknown_argument(program, table, argument);
  if (parsed.help) parsed.help_text = app.help();
  for (std::size_t k = 0; k < table.size(); ++k)
    for (const std::string& text : texts[k]) parsed.values.emplace_back(k, text);
  return parsed;
}

}  // namespace strata::inline STRATA_ABI::miniapp
