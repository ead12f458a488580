// Observers, started by settings: a Kokkos Tools library, the trace, counters, the leak report.
//
// They start with the first event of the program, and with a Runtime object, whichever comes first; they end
// with the runtime, after all devices. A program without any of them pays for its first event only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::profiling {

/// Starts the observers of the settings, the first time. Settings that cannot be read are printed to stderr;
/// the next use of settings throws.
void start_observers() noexcept;

/// Starts observers requested since then: after the command line was read.
void update_observers();

/// Prints the help of the tools library, if one is loaded.
void print_tools_help();

/// Ends them, in the process that started them.
void finish_observers() noexcept;

}  // namespace strata::inline STRATA_ABI::detail::profiling
