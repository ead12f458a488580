// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <strata/algorithms/build_info.hpp>
#include <strata/core/bytes.hpp>
#include <strata/miniapps/common/config_file.hpp>
#include <strata/miniapps/common/options.hpp>
#include <strata/miniapps/common/standard_output.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

std::string shortest_text(double value) {
  char text[40];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

constexpr const char* exit_status_text =
    "Exit status: 0 when all went well; 1 when a run failed: it diverged, a check did not hold, a file\n"
    "could not be written, the memory is too small; 2 when a run could not start because of its input\n"
    "(options, devices, mesh, sets, material, checkpoint) and no other run failed.\n";

bool truth(const std::string& text, const std::string& what) {
  if (text == "true" || text == "1" || text == "on" || text == "yes") return true;
  if (text == "false" || text == "0" || text == "off" || text == "no") return false;
  throw UsageError(what + " is true or false, not \"" + text + "\"");
}

}  // namespace

void fail_unknown_argument(const std::string& program, const std::vector<OptionEntry>& table,
                           const std::string& argument) {
  std::string why = "there is no option " + argument;
  if (!argument.starts_with('-') || argument == "-") {
    why = "the argument \"" + argument + "\" belongs to no option: every value follows its option";
    const auto taker =
        std::find_if(table.begin(), table.end(), [](const OptionEntry& e) { return !e.is_flag(); });
    if (taker != table.end()) why += ", as in --" + taker->name + " " + argument;
  }
  throw UsageError(why + "\n" + program + " --help lists the options");
}

void fail_missing_value(const std::string& program, const std::string& option) {
  throw UsageError(option + " needs a value\n" + program + " --help lists the options");
}

double to_number(const std::string& text, const std::string& what) {
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value))
    throw UsageError(what + " needs a number, not \"" + text + "\"");
  return value;
}

index_t to_integer(const std::string& text, const std::string& what) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno == ERANGE)
    throw UsageError(what + " needs a whole number, not \"" + text + "\"");
  return value;
}

index_t to_bytes(const std::string& text, const std::string& option) {
  if (text.empty()) return 0;
  index_t bytes = 0;
  try {
    bytes = bytes_from_string(text);
  } catch (const Error& error) {
    throw UsageError(option + ": " + error.what());
  }
  if (bytes <= 0)
    throw UsageError(option + " " + text + ": some memory is needed, such as 512MiB; leave it out for all");
  return bytes;
}

void require_between(const std::string& option, index_t value, index_t least, index_t most,
                     const std::string& what) {
  if (value < least || value > most)
    throw UsageError(option + " " + std::to_string(value) + ": give " + std::to_string(least) + " to " +
                     std::to_string(most) + " " + what);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void assign(const OptionEntry& entry, const std::string& text) {
  const std::string what = "--" + entry.name;
  if (!entry.choices.empty() &&
      std::find(entry.choices.begin(), entry.choices.end(), text) == entry.choices.end()) {
    std::string list;
    for (const std::string& choice : entry.choices) list += (list.empty() ? "" : ", ") + choice;
    throw UsageError(what + " is one of " + list + ", not \"" + text + "\"");
  }
  std::visit(
      Overloaded{[&](std::string* s) { *s = text; }, [&](double* x) { *x = to_number(text, what); },
                 [&](index_t* n) { *n = to_integer(text, what); }, [&](bool* b) { *b = truth(text, what); },
                 [&](std::vector<std::string>* list) { list->push_back(text); }},
      entry.target);
}

std::string value_text(const OptionEntry& entry) {
  return std::visit(
      Overloaded{[](const std::string* s) { return *s; }, [](const double* x) { return shortest_text(*x); },
                 [](const index_t* n) { return std::to_string(*n); },
                 [](const bool* b) { return std::string(*b ? "true" : "false"); },
                 [](const std::vector<std::string>* list) {
                   std::string text;
                   for (const std::string& s : *list) text += (text.empty() ? "" : " ") + s;
                   return text;
                 }},
      entry.target);
}

void Options::add(const std::string& names, OptionTarget target, const std::string& takes,
                  const std::string& help, const std::vector<std::string>& choices) {
  OptionEntry entry{"", "", target, takes, help, choices, ""};
  for (const std::string& name : split(names, ',')) {
    if (name.starts_with("--")) entry.name = name.substr(2);
    else entry.short_name = name.substr(1);
  }
  entry.default_text = value_text(entry);
  table_.push_back(std::move(entry));
}

OptionEntry& Options::entry_of(const std::string& name) {
  const auto entry =
      std::find_if(table_.begin(), table_.end(), [&](const OptionEntry& e) { return e.name == name; });
  if (entry == table_.end()) throw Error("Options::exclude: there is no option --" + name);
  return *entry;
}

void Options::exclude(const std::string& name, const std::vector<std::string>& others,
                      const std::string& why) {
  for (const std::string& other : others) exclusions_.push_back({name, other, why});
}

void Options::require_compatible() {
  for (const Exclusion& exclusion : exclusions_) {
    const OptionEntry &entry = entry_of(exclusion.name), &other = entry_of(exclusion.other);
    if (!entry.is_given || !other.is_given) continue;
    throw UsageError("--" + other.name + (other.is_flag() ? "" : " " + value_text(other)) +
                     " has no effect beside --" + entry.name + ": " + exclusion.why +
                     "; leave one of the two out");
  }
}

bool Options::parse(int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  if (!first_.empty() && argc > 1 && argv[1][0] != '-') words.insert(words.begin() + 1, first_.c_str());
  const ParsedArguments arguments =
      parse_arguments(program_, purpose_, table_, static_cast<int>(words.size()), words.data());
  if (arguments.help) {
    std::printf("%s\n%s", arguments.help_text.c_str(), exit_status_text);
    return false;
  }
  if (arguments.version) {
    std::printf("%s, %s\n", program_.c_str(), version_text().c_str());
    return false;
  }
  if (!arguments.config.empty()) read_config(arguments.config);
  for (const auto& [row, text] : arguments.values) {
    OptionEntry& entry = table_[row];
    assign(entry, text);
    entry.is_given = !entry.is_flag() || value_text(entry) != entry.default_text;
  }
  require_compatible();
  for (const OptionEntry& entry : table_)
    if (entry.name == "json" && value_text(entry) == "-") keep_standard_output();
  return true;
}

void Options::read_config(const std::string& path) {
  for (const ConfigValue& given : read_config_file(path)) {
    const auto entry = std::find_if(table_.begin(), table_.end(),
                                    [&](const OptionEntry& e) { return e.name == given.name; });
    if (entry == table_.end())
      throw UsageError(path + ": there is no option \"" + given.name + "\"; " + program_ +
                       " --help lists them");
    if (given.texts.size() != 1 && !entry->is_list())
      throw UsageError(path + ": \"" + given.name + "\" takes one value, not a list");
    try {
      for (const std::string& text : given.texts) assign(*entry, text);
      // A file may be the echo of all parameters, most of which nobody gave.
      entry->is_given = value_text(*entry) != entry->default_text;
    } catch (const UsageError& error) {
      throw UsageError(path + ": " + error.what());
    }
  }
}

std::string Options::given() const {
  const auto quoted = [](const std::string& text) {
    const char* const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-@%";
    if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
    std::string in_quotes = "'";
    for (const char c : text) in_quotes += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return in_quotes + "'";
  };
  std::string text = program_;
  for (const OptionEntry& entry : table_) {
    if (value_text(entry) == entry.default_text) continue;
    const std::string name = " --" + entry.name;
    if (const auto* const list = std::get_if<std::vector<std::string>*>(&entry.target))
      for (const std::string& value : **list) text += name + " " + quoted(value);
    else if (entry.is_flag()) text += name + (value_text(entry) == "true" ? "" : "=false");
    else text += name + " " + quoted(value_text(entry));
  }
  return text;
}

std::string Options::to_json() const { return config_text(table_); }

}  // namespace strata::inline STRATA_ABI::miniapp
