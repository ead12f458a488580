// Settings of Strata, by the program, its command line and its environment.
//
// The list STRATA_SETTINGS below defines each setting: a line there gives the field of Settings, the
// environment variable (STRATA_EMULATED_COUNT), the option (--strata-emulated-count) and the line of
// --strata-help. A value set by the program overrides one of the command line, that one of the environment,
// and that the default, in whichever order they are set.
//
// All functions may be called from any thread at any time. A reference that settings() returned stays valid
// and unchanged to the end of the program; each change costs the memory of one more Settings. Most settings
// are read when the part that they configure starts (the threads with the first launch), so set them first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include <strata/core/bytes.hpp>
#include <strata/core/config.hpp>

// X(type, name, default, allowed values, description). Fields of type index_t are bytes.
// clang-format off
#define STRATA_SETTINGS(X)                                                                                       \
  X(int, threads, 0, between(0, 65536), "host threads of Threads; 0: one on each CPU of the inherited affinity") \
  X(bool, pin, true, any_value, "whether each of those threads stays on one CPU")                                \
  X(int, spin_us, 50, between(0, 1e6), "microseconds for which an idle worker spins before it sleeps")           \
  X(std::string, device, "default", not_empty, "what visit_device runs on, such as Threads or Cuda:1")           \
  X(std::string, host_device, "threads", one_of("serial", "threads", "tbb"), "what AnyHost{} is")                 \
  X(std::string, memory, "smart", one_of("smart", "pinned", "managed", "mapped", "explicit", "explicit-pinned", "implicit"), \
    "how coherent arrays lie in memory, where the program does not say")                                           \
  X(index_t, managed_at_host, 16_MiB, at_least(0), "managed arrays up to this size stay with a host that uses them often") \
  X(int, emulated_count, 2, between(1, 16), "instances of Emulated")                                             \
  X(index_t, emulated_capacity, 8_GiB, at_least(1), "memory of one emulated instance")                           \
  X(int, emulated_threads, 2, between(1, 1024), "host threads that run kernels of one instance")                 \
  X(double, emulated_host_bandwidth, 50, between(1e-3, 1e6), "GB/s between host and instance, each way")         \
  X(double, emulated_peer_bandwidth, 200, between(0, 1e6), "GB/s between instances, each way; 0: no link")       \
  X(double, emulated_memory_bandwidth, 2000, between(1e-3, 1e6), "GB/s within an emulated instance")             \
  X(double, emulated_copy_latency_us, 10, between(0, 1e6), "microseconds before a copy begins")                  \
  X(double, emulated_launch_latency_us, 5, between(0, 1e6), "microseconds before a kernel begins")               \
  X(index_t, emulated_managed_page, 64_KiB, at_least(4096), "page of an emulated instance's managed memory")     \
  X(double, emulated_fault_latency_us, 20, between(0, 1e6), "microseconds of a fault in managed memory")         \
  X(index_t, cuda_memory_limit, 0, at_least(0), "most memory that is held of one GPU; 0: no limit")              \
  X(std::string, cuda_allocator, "slabs", one_of("slabs", "async"), "where the memory of GPUs comes from")       \
  X(bool, cuda_direct_files, false, any_value, "whether GPUs read and write files themselves, by cuFile")        \
  X(std::string, tools_libs, "", any_value, "library of Kokkos Tools to load, before KOKKOS_TOOLS_LIBS")         \
  X(std::string, tools_args, "", any_value, "its arguments, before KOKKOS_TOOLS_ARGS")                           \
  X(std::string, trace, "", any_value, "file for a timeline that Chrome and Perfetto open; %p: process number")  \
  X(std::string, counters, "", any_value, "file for counters of calls and bytes, as JSON; %p: process number")   \
  X(bool, leak_report, false, any_value, "whether to list at the end what is still allocated")                   \
  X(bool, nvtx, false, any_value, "whether Nsight gets ranges of kernels; on when a profiler listens")           \
  X(std::string, log, "warning", one_of("error", "warning", "info", "debug"), "how much is said on stderr")        \
  X(bool, print_config, false, any_value, "whether to print the configuration at the start")
// clang-format on

namespace strata::inline STRATA_ABI {

/// The values of all settings; the list above has the meaning and the unit of each.
struct Settings {
#define STRATA_FIELD(type, name, initial, allowed, description) type name = initial;
  STRATA_SETTINGS(STRATA_FIELD)
#undef STRATA_FIELD

  friend bool operator==(const Settings&, const Settings&) = default;
};

/// The settings in force. The first use of any setting reads the environment; later calls cost a load and a
/// branch. Each STRATA_ variable that is not a setting gets one warning on stderr; empty ones count as unset.
/// SettingError, at every use, while a variable has a value that does not fit.
const Settings& settings();

/// Sets one setting from text as a user would write it: `set_setting("emulated_capacity", "64MiB")`. In names
/// '-' is accepted for '_'. SettingError, without effect, when there is no such setting or the value does not
/// fit it.
void set_setting(const std::string& name, const std::string& value);

/// Sets one setting: `set_setting(&Settings::threads, 4)`. SettingError, without effect, when the value is
/// not allowed.
template <class T>
void set_setting(T Settings::*field, const std::type_identity_t<T>& value);

/// Sets every setting in which `wanted` differs from what is in force, all or none: change a copy of
/// settings() and pass it here. SettingError when a value is not allowed.
void update_settings(const Settings& wanted);

/// Takes `--strata-NAME=VALUE` and `--strata-NAME VALUE` out of the command line, up to an argument `--`, and
/// leaves the rest in order. The value of a bool may be left out where the next argument is not one
/// (`--strata-print-config`). With --strata-help among them, prints settings_help() and returns true: the
/// program should then end with success. SettingError, without effect on settings and arguments, on an
/// unknown option or a value that does not fit.
bool parse_settings(int& argc, char** argv);

/// The source of a setting's value, weakest first.
enum class SettingSource { BuiltIn, Environment, CommandLine, Program };

/// One setting as text.
struct SettingDescription {
  std::string name;         ///< the field of Settings
  std::string option;       ///< --strata-...
  std::string variable;     ///< STRATA_...
  std::string expected;     ///< type and allowed values, such as "an integer from 1 to 16"
  std::string initial;      ///< the default
  std::string value;        ///< in force now
  SettingSource source;     ///< of the value
  std::string description;  ///< one line
};

/// All settings as they are now, in the order of the list above.
std::vector<SettingDescription> describe_settings();

/// The text of --strata-help: all settings, their defaults, their values and the sources of these.
std::string settings_help();

namespace detail {
/// Forgets every value set so far; the next use reads the environment again. For tests.
void forget_settings();
}  // namespace detail

}  // namespace strata::inline STRATA_ABI
