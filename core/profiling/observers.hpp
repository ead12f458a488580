// Observers: what the settings ask to be watched: a Kokkos Tools library, the trace, counters, the leak
// report.
//
// They start with the first event of the program, and with a Runtime object, whichever comes first; they end
// with the runtime, after all devices. A program without any of them pays for its first event only.
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Starts what the settings ask for, the first time. Settings that cannot be read are printed to stderr; the
/// use of the setting that is wrong will throw.
void start_observers() noexcept;

/// The same again, for what was asked for since: after the command line was read.
void update_observers();

/// Prints the help of the tools library, if one is loaded.
void print_tools_help();

/// Ends them, in the process that started them.
void finish_observers() noexcept;

}  // namespace strata::inline STRATA_ABI::detail
