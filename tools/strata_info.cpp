// strata-info: what the installed Strata is, which devices it finds on this machine, and which settings are
// in force.
//
//   strata-info                    all of it
//   strata-info --json             the same as JSON
//   strata-info --version          one line: version, commit, compiler, the devices built in
//
// Settings may be given as to every program: strata-info --strata-threads=4 says what that does.
// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <strata/algorithms/build_info.hpp>
#include <strata/algorithms/system_report.hpp>
#include <strata/core/runtime.hpp>

namespace {

constexpr const char* usage =
    "strata-info            version, devices and their memory, settings and where they come from\n"
    "strata-info --json     the same as JSON\n"
    "strata-info --version  version, commit, compiler and the devices built in\n"
    "strata-info --help     this text\n"
    "Settings of Strata (--strata-help lists them) are shown as they would be in force.\n";

// Returns the exit status: 1 where the text cannot be written.
int print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::perror("strata-info: standard output");
  return 1;
}

int run(int argc, char** argv) {
  // Before the settings are read: the version can be asked for where one of them is wrong.
  for (int k = 1; k < argc; ++k) {
    if (std::strcmp(argv[k], "--version") == 0) return print(strata::version_text() + "\n");
    if (std::strcmp(argv[k], "--help") == 0) return print(usage);
  }

  const strata::Runtime runtime(argc, argv);
  if (argc == 1) return print(strata::system_report());
  if (argc == 2 && std::strcmp(argv[1], "--json") == 0) return print(strata::system_report_json());
  std::fprintf(stderr, "strata-info: the arguments from \"%s\" on are none of these:\n%s", argv[1], usage);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // each write beyond a limit of file sizes reports an error
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strata-info: %s\n", error.what());
    return 1;
  }
}
