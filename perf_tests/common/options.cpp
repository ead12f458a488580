// SPDX-License-Identifier: Apache-2.0
#include "common/options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>

namespace perf {

namespace {

[[noreturn]] void usage(const char* program, const char* about, const std::string& mistake) {
  std::FILE* const out = mistake.empty() ? stdout : stderr;
  if (!mistake.empty()) std::fprintf(out, "%s: %s\n", program, mistake.c_str());
  std::fprintf(out,
               "%s\n\nusage: %s [options]\n"
               "  --device NAME|all    the device to measure (default all)\n"
               "  --n N                work items (default: the program's sizes)\n"
               "  --type float|double  element type (default all that the program has; scan has int64, too)\n"
               "  --reps R             samples of each case\n"
               "  --json FILE          also write the results to FILE\n"
               "  --strata-help        the settings of Strata\n",
               about, program);
  std::exit(mistake.empty() ? 0 : 2);
}

}  // namespace

Options parse_options(int& argc, char** argv, const char* about) {
  try {
    if (strata::parse_settings(argc, argv)) std::exit(0);
  } catch (const strata::Error& error) {
    usage(argv[0], about, error.what());
  }
  Options options;
  for (int a = 1; a < argc; ++a) {
    const std::string name = argv[a];
    if (name == "--help" || name == "-h") usage(argv[0], about, "");
    if (a + 1 == argc) usage(argv[0], about, name + " is no option, or lacks its value");
    const std::string value = argv[++a];
    const auto number = [&] {
      char* end = nullptr;
      const long long n = std::strtoll(value.c_str(), &end, 10);
      if (end == value.c_str() || *end != '\0' || n <= 0)
        usage(argv[0], about, name + " takes a positive number, not '" + value + "'");
      return n;
    };
    if (name == "--device") options.device = value;
    else if (name == "--n") options.n = number();
    else if (name == "--reps") options.reps = static_cast<int>(number());
    else if (name == "--json") options.json = value;
    else if (name == "--type" && (value == "float" || value == "double" || value == "int64"))
      options.type = value;
    else usage(argv[0], about, "there is no option " + name + " " + value);
  }
  return options;
}

const char* take_option(int& argc, char** argv, const char* name) {
  for (int a = 1; a + 1 < argc; ++a) {
    if (std::strcmp(argv[a], name) != 0) continue;
    const char* const found = argv[a + 1];
    for (int k = a; k + 2 <= argc; ++k) argv[k] = argv[k + 2];
    argc -= 2;
    return found;
  }
  return nullptr;
}

bool take_flag(int& argc, char** argv, const char* name) {
  char** const end = argv + argc;
  char** const left =
      std::remove_if(argv, end, [&](const char* word) { return std::strcmp(word, name) == 0; });
  argc = static_cast<int>(left - argv);
  argv[argc] = nullptr;
  return left != end;
}

}  // namespace perf
