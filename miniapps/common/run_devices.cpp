// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <utility>

#include <strata/core/error.hpp>
#include <strata/core/files/output_lock.hpp>
#include <strata/core/files/partial_file.hpp>
#include <strata/core/profiling/json_text.hpp>
#include <strata/core/runtime.hpp>
#include <strata/miniapps/common/run_devices.hpp>

namespace strata::inline STRATA_ABI::miniapp {

namespace {

template <class... Types>
bool is_one_of(const std::exception& error) {
  return ((dynamic_cast<const Types*>(&error) != nullptr) || ...);
}

bool is_usage_error(const std::exception& error, bool is_starting) {
  if (is_one_of<UsageError, NoSuchDevice, SettingError>(error)) return true;
  return is_starting && is_one_of<Error>(error) && !is_one_of<OutOfMemory, KernelError, CopyError>(error);
}

}  // namespace

void run_guarded(RunReport& report, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    report.error = "out of host memory: take a smaller mesh, or a machine with more";
  } catch (const std::exception& error) {
    report.error = error.what();
    report.is_usage_error = is_usage_error(error, report.is_starting);
  }
}

int exit_status_of(const std::string& program, const std::function<int()>& run) {
  // Each write beyond a limit of file sizes reports an error instead.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto print = [&](const char* what) { std::fprintf(stderr, "%s: %s\n", program.c_str(), what); };
  int status = 1;
  try {
    status = run();
  } catch (const std::exception& error) {
    print(error.what());
    return is_usage_error(error, false) ? 2 : 1;
  }
  if (const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0; printed || status != 0)
    return status;
  print("not everything could be written to standard output: is its disk full?");
  return 1;
}

int exit_status_of(const std::string& program, int argc, char** argv, int (*run)(int, char**)) {
  return exit_status_of(program, [&] {
    const Runtime runtime(argc, argv);
    return run(argc, argv);
  });
}

bool same_file(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  const auto place = [](const std::string& path) {
    std::error_code error;  // what cannot be followed is compared as it was given
    const fs::path given = fs::absolute(path, error);
    const fs::path found = fs::weakly_canonical(given, error);
    return error ? given.lexically_normal() : found;
  };
  return place(a) == place(b);
}

namespace {

// The files that an option stands for, with the device that each is of.
std::vector<std::pair<std::string, std::string>> files_of(const NamedFile& file,
                                                          const std::vector<std::string>& devices) {
  if (file.path.empty()) return {};
  if (!file.is_of_device || devices.size() < 2) return {{file.path, ""}};
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& device : devices) files.emplace_back(path_with(file.path, device), device);
  return files;
}

void require_different(const NamedFile& a, const NamedFile& b, const std::vector<std::string>& devices) {
  for (const auto& [path, device] : files_of(a, devices))
    for (const auto& [other, other_device] : files_of(b, devices)) {
      if (!same_file(path, other)) continue;
      const std::string of_device = device.empty() ? other_device : device;
      throw UsageError(a.option + " " + a.path + " and " + b.option + " " + b.path + " are the same file" +
                       (device == other_device ? "" : ", " + other + ", on " + of_device) + ": name two");
    }
}

}  // namespace

void require_different_files(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read,
                             const std::vector<std::string>& devices) {
  for (std::size_t b = 0; b < written.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) require_different(written[a], written[b], devices);
    for (const NamedFile& file : read) require_different(file, written[b], devices);
  }
}

void require_writable(const std::string& option, const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  const auto fail = [&](const std::string& why) { throw UsageError(option + " " + path + ": " + why); };
  if (strata::detail::profiling::has_control_character(path))
    throw UsageError(option + " " + strata::detail::profiling::json_quoted(path) +
                     ": the name has a control character: choose another");
  std::error_code error;
  const fs::path file(path);
  if (fs::is_directory(file, error)) fail("this is a folder: give the name of a file in it");
  if (fs::exists(file, error) && !fs::is_regular_file(file, error))
    fail("this is a device or a pipe, whose place no file may take: give the name of a file");
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::exists(folder, error))
    fail("there is no folder " + folder.string() + ": make it, or name another");
  if (!fs::is_directory(folder, error)) fail(folder.string() + " is no folder: name another");
  // A file is written beside its place and renamed.
  if (!strata::detail::files::can_create_beside(path))
    fail("the folder " + folder.string() + " cannot be written to: change its permissions, or name another");
}

namespace {

void require_devices(const CommonSettings& settings, const std::vector<std::string>& devices) {
  bool has_names = !devices.empty();
  for (const std::string& device : devices)
    has_names = has_names && (!device.empty() || settings.device.empty());
  if (!has_names)
    throw UsageError("--device " + settings.device + ": names of devices are separated by one comma each");
}

// "-" is standard output, not a file.
std::string report_file(const CommonSettings& settings) { return settings.json == "-" ? "" : settings.json; }

void require_files(const CommonSettings& settings, const std::vector<std::string>& devices) {
  require_writable("--output", settings.output);
  const std::string report = report_file(settings);
  require_writable("--json", report);
  require_different_files({{"--output", settings.output, true}, {"--json", report}},
                          {{"--mesh", settings.mesh}}, devices);
}

// For the time of the run: the report is written at its end.
strata::detail::files::OutputLock lock_report(const CommonSettings& settings) {
  try {
    return strata::detail::files::OutputLock(report_file(settings));
  } catch (const FileError& error) {
    throw UsageError(std::string("--json: ") + error.what());
  }
}

RunReport new_run(const CommonSettings& settings, const std::string& device) {
  RunReport run;
  run.device = device.empty() ? "default" : device;  // until it is found
  run.type = settings.type;
  return run;
}

}  // namespace

int run_devices(const CommonSettings& settings, const std::vector<std::string>& devices,
                const RunOnDevice& run, Report& report) {
  require_devices(settings, devices);
  require_files(settings, devices);
  const strata::detail::files::OutputLock lock = lock_report(settings);
  for (const std::string& device : devices) {
    RunReport one = new_run(settings, device);
    run_guarded(one, [&] { run(device, one); });
    report.add(std::move(one));
  }
  return report.finish(settings.json);
}

int run_sweep(const CommonSettings& settings, const std::vector<std::string>& devices,
              const std::string& header, const RunSize& run, Report& report) {
  require_devices(settings, devices);
  require_files(settings, devices);
  const strata::detail::files::OutputLock lock = lock_report(settings);
  const std::vector<index_t> sizes = sweep_sizes(settings.sweep);
  std::printf("%s\n", header.c_str());
  for (const std::string& device : devices)
    for (const index_t size : sizes) {
      RunReport one = new_run(settings, device);
      std::string row;
      run_guarded(one, [&] { row = run(device, box_of_about(size), one); });
      const bool failed = !one.error.empty();
      if (!failed) std::printf("%s\n", row.c_str());
      std::fflush(stdout);
      report.add(std::move(one));
      if (failed) break;
    }
  return report.finish_quietly(settings.json);
}

}  // namespace strata::inline STRATA_ABI::miniapp
