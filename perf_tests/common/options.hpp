// The command line that all performance tests share:
//
//   --device NAME|all   --n N   --type float|double   --reps R   --json FILE
//
// An option that is not given leaves the choice to the program. --strata-* settings work as everywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace perf {

struct Options {
  std::string device = "all";
  strata::index_t n = 0;  // 0: the sizes of the program
  std::string type;       // empty: all
  int reps = 0;           // 0: the program's number
  std::string json;       // empty: no file

  bool wants_device(const std::string& name) const { return device == "all" || device == name; }
  bool wants_type(const std::string& name) const { return type.empty() || type == name; }
  int reps_or(int otherwise) const { return reps > 0 ? reps : otherwise; }
};

/// Reads the command line. Prints the usage and ends the program on --help (status 0) and on a mistake
/// (status 2). `about` says in a sentence what the program measures.
Options parse_options(int& argc, char** argv, const char* about);

/// Takes an option of the program's own, with its value, out of the command line, which parse_options reads
/// afterwards; null where it is not there.
const char* take_option(int& argc, char** argv, const char* name);
/// The same of one without a value: whether it was there.
bool take_flag(int& argc, char** argv, const char* name);

}  // namespace perf
