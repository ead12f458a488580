// Loading a library that speaks the C interface of Kokkos Tools, and the calls before the first event.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <strata/core/profiling/kokkos_tools_interface.hpp>

namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools {

/// A library that was started.
struct Library {
  Callbacks callbacks;
  bool fences = true;  // whether it wants all devices to be waited for around kernels and regions
};

/// Opens the first library of the list `libraries`, separated by ';', and calls init_library,
/// request_tool_settings, provide_tool_programming_interface and parse_args, the last with the words of
/// `arguments` after the program's name. None, with a warning on stderr that says why, if it cannot be
/// opened. The library stays open to the end of the process. `origin` is where the list comes from.
std::optional<Library> load(const std::string& libraries, const std::string& arguments,
                            const std::string& origin);

/// Calls print_help.
void print_help(const Library& library);

}  // namespace strata::inline STRATA_ABI::detail::profiling::kokkos_tools
