// Reports events to a library written for Kokkos Tools, in the terms of Kokkos.
//
// Callbacks come one at a time, under the lock of the listeners. If a library requests it, all devices are
// fenced before the begin and the end of every kernel and region: its times are then those of the work, and
// queues no longer overlap.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools {

/// Loads the library, and reports all later events to it, but no end whose begin it missed. If it cannot be
/// loaded, or if one is loaded already, only prints a warning to stderr.
void start(const std::string& libraries, const std::string& arguments, const std::string& origin);
bool started();
/// Has the library print its help, if one is loaded.
void print_help();
/// The last call of the library.
void finish();

}  // namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools
