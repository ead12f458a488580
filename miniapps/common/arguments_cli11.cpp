// The command line by CLI11.
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
      ->type_name("FILE.json");
  std::vector<std::vector<std::string>> texts(table.size());
  std::vector<bool> flags(table.size());
  for (std::size_t k = 0; k < table.size(); ++k) {
    const OptionEntry& entry = table[k];
    if (entry.is_flag()) {
      app.add_flag_callback(
          cli_names(entry), [&parsed, k] { parsed.values.emplace_back(k, "true"); }, help_of(entry));
    } else {
      app.add_option(cli_names(entry), texts[k], help_of(entry))
          ->type_name(entry.takes)
          ->expected(1)
          ->multi_option_policy(entry.is_list() ? CLI::MultiOptionPolicy::TakeAll
                                                : CLI::MultiOptionPolicy::TakeLast);
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "\n" + program + " --help lists the options");
  }
  if (parsed.help) parsed.help_text = app.help();
  for (std::size_t k = 0; k < table.size(); ++k)
    for (const std::string& text : texts[k]) parsed.values.emplace_back(k, text);
  return parsed;
}

}  // namespace strata::inline STRATA_ABI::miniapp
