// run_devices and run_sweep: an application on the devices of --device, one after the other. What fails on
// one device is reported and noted in its report, and the others run all the same.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/common/settings.hpp>

namespace strata::inline STRATA_ABI::miniapp {

/// Runs on the device of a name, and fills the report: also of what it did before it threw.
using RunOnDevice = std::function<void(const std::string& device, RunReport& report)>;
/// The same with a box of elements; returns the row of a table.
using RunSize =
    std::function<std::string(const std::string& device, const std::string& box, RunReport& report)>;

/// Calls work(); what it throws becomes the report's `error`. One of how the program was called are
/// UsageError, NoSuchDevice and SettingError, and while the report `is_starting` every Error but those of a
/// machine that could not do what was asked (OutOfMemory, KernelError, CopyError).
void run_guarded(RunReport& report, const std::function<void()>& work);

/// Runs on all devices, prints the report and writes its JSON. Returns the exit status of the program, as
/// Report::finish. UsageError, before anything is run, when the files of --output and --json could not be
/// written, when one would replace the other or the mesh, or when another program writes the file of --json.
int run_devices(const CommonSettings& settings, const std::vector<std::string>& devices,
                const RunOnDevice& run, Report& report);

/// The rows of a table of comma-separated values on standard output: `header`, then for each device in turn
/// the sizes of --sweep, ascending. A size that fails ends the rows of its device. Otherwise as run_devices.
int run_sweep(const CommonSettings& settings, const std::vector<std::string>& devices,
              const std::string& header, const RunSize& run, Report& report);

/// The status for main() to return: that of run(), or, when it throws, 2 for an error in how the program was
/// called (UsageError, NoSuchDevice, SettingError) and 1 for others; the error is printed to stderr. 1 also
/// when not all output could be written to standard output.
int exit_status_of(const std::string& program, const std::function<int()>& run);
/// The same of run(argc, argv) while there is a Runtime, which takes the --strata-... options.
int exit_status_of(const std::string& program, int argc, char** argv, int (*run)(int, char**));

/// Whether two paths lead to one file, which may not be there yet.
bool same_file(const std::string& a, const std::string& b);

/// A file, and the option that it was given to; an empty path is none.
struct NamedFile {
  std::string option, path;
  bool is_of_device = false;  ///< each device writes its own where there are several (path_with)
};
/// UsageError where one of the files `written` would replace another one or one of those that are `read`.
void require_different_files(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read,
                             const std::vector<std::string>& devices);

/// UsageError unless a file of this name can be written, saying what to do; `option` is where it was given.
/// Leaves no file. An empty path is none.
void require_writable(const std::string& option, const std::string& path);

}  // namespace strata::inline STRATA_ABI::miniapp
