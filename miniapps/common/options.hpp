// Options: the command line of an application, declared once as a table, from which come the parser, --help,
// the values of a file (--config FILE.json) and the echo of all parameters, which is such a file.
//
//   Settings s;                                        // the defaults
//   Options options("strata-thermal", "Heat conduction.");
//   options.add("-m,--mesh", s.mesh, "FILE|box:NXxNYxNZ", "the mesh");
//   if (!options.parse(argc, argv)) return 0;          // --help or --version was asked for, and printed
//
// Values are taken from the defaults, then the file, then the command line; what can be given several times
// collects the values in this order. The table refers to the variables, which outlive it. Not thread safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// The command line or the file of parameters cannot be understood; the message says which option, and what
/// it takes.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Where the value of an option goes: text, numbers, whether the option is given, or everything it is given.
using OptionTarget = std::variant<std::string*, double*, index_t*, bool*, std::vector<std::string>*>;

/// A row of the table.
struct OptionEntry {
  std::string name;        ///< without dashes, "mesh"; also its name in files
  std::string short_name;  ///< "m", or empty
  OptionTarget target;
  std::string takes;  ///< what is given, "FILE"; empty for options that are only there or not
  std::string help;
  std::vector<std::string> choices;  ///< what the text may be; empty: anything
  std::string default_text;          ///< the value before parsing, in words
  bool is_given = false;  ///< on the command line, or in a file with another value than the default

  bool is_flag() const { return std::holds_alternative<bool*>(target); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
};

/// The table, and what is done with it.
class Options {
 public:
  /// `purpose` is the first line of --help.
  Options(std::string program, std::string purpose)
      : program_(std::move(program)), purpose_(std::move(purpose)) {}

  /// Declares an option: `names` are "-m,--mesh" or "--mesh". The variable holds the default.
  void add(const std::string& names, OptionTarget target, const std::string& takes, const std::string& help,
           const std::vector<std::string>& choices = {});
  /// An option that is only there or not.
  void add_flag(const std::string& names, bool& target, const std::string& help) {
    add(names, &target, "", help);
  }

  /// A first argument that begins with no dash is the value of this option, "--app".
  void set_first(const std::string& option) { first_ = option; }

  /// Says that `others` have no effect beside the option `name`, for which `why` is the reason: parse()
  /// refuses them together. Names are those of the table, without dashes.
  void exclude(const std::string& name, const std::vector<std::string>& others, const std::string& why);

  /// Sets the variables. Returns false when --help or --version was asked for and printed. UsageError. With
  /// `--json -` standard output is kept for the report (standard_output.hpp).
  bool parse(int argc, const char* const* argv);
  /// Sets the variables that a file names. UsageError.
  void read_config(const std::string& path);

  /// The command line of what is not as by default, for people: "strata-thermal --mesh box:4x4x4".
  std::string given() const;
  /// All parameters as a JSON object that --config takes.
  std::string to_json() const;
  const std::string& program() const { return program_; }

 private:
  struct Exclusion {
    std::string name, other, why;
  };

  OptionEntry& entry_of(const std::string& name);
  void require_compatible();

  std::string program_, purpose_, first_;
  std::vector<OptionEntry> table_;
  std::vector<Exclusion> exclusions_;
};

/// Sets the variable of `entry`; UsageError when `text` is no such value.
void assign(const OptionEntry& entry, const std::string& text);
/// The value of the variable, as text.
std::string value_text(const OptionEntry& entry);

/// What stood on a command line.
struct ParsedArguments {
  bool help = false;
  bool version = false;
  std::string config;
  std::string help_text;
  std::vector<std::pair<std::size_t, std::string>> values;  // row of the table, text
};

/// Takes a command line apart, by CLI11 where the build has it: --name VALUE, --name=VALUE, -n VALUE,
/// -nVALUE, and flags, the short ones also in one word. UsageError names what is wrong, whatever the parser.
ParsedArguments parse_arguments(const std::string& program, const std::string& purpose,
                                const std::vector<OptionEntry>& table, int argc, const char* const* argv);

/// UsageError for an argument that is neither an option of the table nor the value of one.
[[noreturn]] void fail_unknown_argument(const std::string& program, const std::vector<OptionEntry>& table,
                                        const std::string& argument);
/// UsageError for an option, as it was written, whose value is missing.
[[noreturn]] void fail_missing_value(const std::string& program, const std::string& option);

/// "a,b,c" in parts; empty text has none.
std::vector<std::string> split(const std::string& text, char separator);
/// A number that is all of `text`; UsageError says that `what` needs one.
double to_number(const std::string& text, const std::string& what);
index_t to_integer(const std::string& text, const std::string& what);
/// Bytes of memory, "512MiB", more than 0; 0 for an empty text. UsageError names the option.
index_t to_bytes(const std::string& text, const std::string& option);
/// UsageError unless the option's value is one of `least`, ..., `most`: "--tile 0: give 1 to 9 rows of a
/// tile".
void require_between(const std::string& option, index_t value, index_t least, index_t most,
                     const std::string& what);

}  // namespace strata::inline STRATA_ABI::miniapp
