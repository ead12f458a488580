// What strata_memory_modes takes on its command line beside the options of all programs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <strata/core/config.hpp>

#include "common/options.hpp"

namespace perf {

struct ModeOptions {
  strata::index_t from = 4096, to = strata::index_t{1} << 30;  ///< bytes of an array
  std::string traces;                                          ///< empty: none
};

[[noreturn]] inline void fail_mode_options(const char* text) {
  std::fprintf(stderr, "strata_memory_modes: %s\n", text);
  std::exit(2);
}

/// Takes them out of the command line. A wrong one ends the program.
inline ModeOptions take_mode_options(int& argc, char** argv) {
  ModeOptions options;
  if (const char* const folder = take_option(argc, argv, "--traces")) options.traces = folder;
  if (const char* const sizes = take_option(argc, argv, "--sizes")) {
    char* end = nullptr;
    options.from = std::strtoll(sizes, &end, 10);
    if (*end != ':') fail_mode_options("--sizes takes bytes of an array, FROM:TO");
    options.to = std::strtoll(end + 1, &end, 10);
    if (*end != '\0' || options.from < 1024 || options.to < options.from)
      fail_mode_options("--sizes takes bytes of an array, FROM:TO, of at least 1024");
  }
  return options;
}

}  // namespace perf
