// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include <unistd.h>

#include <strata/core/files/output_file.hpp>
#include <strata/core/log.hpp>
#include <strata/core/profiling/counters.hpp>
#include <strata/core/profiling/hooks.hpp>
#include <strata/core/profiling/kokkos_tools.hpp>
#include <strata/core/profiling/leak_report.hpp>
#include <strata/core/profiling/observers.hpp>
#include <strata/core/profiling/trace.hpp>
#include <strata/core/runtime.hpp>
#include <strata/core/settings.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

namespace {

enum Stage { NotStarted, Starting, Started };

// Recursive: an observer that starts may cause events.
struct State {
  std::recursive_mutex mutex;
  std::string tools;   // the libraries that were asked for
  std::string traced;  // the file of the setting
  bool counts = false;
  pid_t process = 0;
};
State& state() {
  static auto* const instance = new State;
  return *instance;
}

constinit int stage = NotStarted;

struct ToolsRequest {
  std::string libraries;
  std::string origin;
};

// The setting comes before the variables of Kokkos, the old name last.
ToolsRequest requested_tools() {
  if (!settings().tools_libs.empty()) return {settings().tools_libs, "the setting tools_libs"};
  for (const char* name : {"KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"})
    if (const char* const value = secure_getenv(name); value != nullptr && *value != '\0')
      return {value, "the environment variable " + std::string(name)};
  return {};
}

std::string tools_arguments() {
  if (!settings().tools_args.empty()) return settings().tools_args;
  const char* const value = secure_getenv("KOKKOS_TOOLS_ARGS");
  return value != nullptr ? value : "";
}

void start_requested() {
  State& now = state();
  const Settings& wanted = settings();
  now.process = getpid();
  if (const ToolsRequest tools = requested_tools();
      !tools.libraries.empty() && tools.libraries != now.tools) {
    now.tools = tools.libraries;
    kokkos_tools::start(tools.libraries, tools_arguments(), tools.origin);
    end_at_exit();
  }
  if (!wanted.trace.empty() && wanted.trace != now.traced) {
    now.traced = wanted.trace;
    start_trace(wanted.trace);
  }
  if (!wanted.counters.empty() && !now.counts) {
    now.counts = true;
    start_counting();
    end_at_exit();
  }
  if (wanted.leak_report) end_at_exit();
}

}  // namespace

void start_observers() noexcept {
  if (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) == Started) [[likely]]
    return;
  const std::lock_guard lock(state().mutex);
  if (stage != NotStarted) return;
  __atomic_store_n(&stage, Starting, __ATOMIC_RELAXED);
  try {
    if (!runtime_ended()) start_requested();
  } catch (const std::exception& error) {
    detail::log_message(LogLevel::Warning, "no tools, trace or counters: %s", error.what());
  }
  __atomic_store_n(&stage, Started, __ATOMIC_RELEASE);
  __atomic_fetch_sub(&listener_count, 1, __ATOMIC_RELAXED);
}

void update_observers() {
  const std::lock_guard lock(state().mutex);
  start_observers();
  if (!runtime_ended()) start_requested();
}

void print_tools_help() {
  if (kokkos_tools::started()) kokkos_tools::print_help();
  else std::puts("No tools library is loaded: name one by --kokkos-tools-libs or KOKKOS_TOOLS_LIBS.");
}

void finish_observers() noexcept {
  if (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) != Started) return;
  State& now = state();
  const std::lock_guard lock(now.mutex);
  if (now.process != 0 && now.process != getpid()) return;
  stop_trace();
  if (now.counts) {
    files::OutputFile file("counters", settings().counters);
    file.finish(counters_json());
  }
  kokkos_tools::finish();
  if (now.process != 0 && settings().leak_report) std::fputs(leak_report().c_str(), stderr);
}

}  // namespace strata::inline STRATA_ABI::detail::profiling
