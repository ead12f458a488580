// Runtime: initialises and finalises Strata in a program. The first use of Strata starts it; a Runtime object
// is optional. Its constructor takes `--strata-*` options out of the command line, its destructor (or
// `finalize`) waits for all devices and makes new work an error. Memory outlives it: views may be destroyed
// afterwards. Tools, trace and counters (observers.hpp) start with the runtime and end with it, after the
// devices.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Whether the runtime has ended. New launches, copies and allocations then throw RuntimeEnded.
bool runtime_ended();

/// Ends the runtime: waits for all devices, stops their threads, completes the output of tools, trace and
/// counters. Does nothing the second time. An error of queued work that no wait has thrown is printed to
/// stderr, once, with label and device, and not thrown.
void finalize();

/// Optional: reads settings from the command line, ends the runtime with the scope. An error found only then
/// is printed, as by finalize(), but cannot change the status of the program, as no destructor can: use
/// main_guard (core/main_guard.hpp), or wait for queued work before the scope ends.
class Runtime {
 public:
  Runtime() = default;
  /// Removes `--strata-*` and `--kokkos-tools-*` from argv. `--strata-help` prints the settings and exits
  /// with 0, `--kokkos-tools-help` those of the tools library. SettingError on an unknown or unreadable
  /// option.
  Runtime(int& argc, char** argv);
  ~Runtime() { finalize(); }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
};

namespace detail {

inline constinit int runtime_state = 0;  // 0 running, 1 ended; read relaxed

[[noreturn]] void fail_ended(const char* what);

/// Throws RuntimeEnded, naming `what`, after the end of the runtime.
inline void require_running(const char* what) {
  if (__atomic_load_n(&runtime_state, __ATOMIC_RELAXED) != 0) [[unlikely]]
    fail_ended(what);
}

/// Registers a function to be called at the end, in reverse order of registration. Devices register when they
/// start. Throws RuntimeEnded after the end.
void at_end(void (*action)() noexcept);

/// A program that never calls finalize ends the runtime by exit().
void end_at_exit();

}  // namespace detail
}  // namespace strata::inline STRATA_ABI
