// Explains a wrong access to the memory of `Emulated`, and ends the program: the one error of Strata that is
// not an exception, because an address has no place to throw from.
//
// A handler of SIGSEGV and SIGBUS decodes the faulting address: who touched it (a host thread, or a kernel on
// an instance), whose memory it is, and, by allocation_list.hpp, which element of which array. It
// writes one line to standard error and aborts. Faults at other addresses are passed to the handler installed
// before.
//
// Faults in managed memory are no errors: pages move (managed_pages.hpp), and the access is made again.
//
// The handler takes no lock but the spin lock of managed pages, allocates nothing and needs less than a page
// of stack. Writers of the list take a lock among themselves; a reader sees an entry whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

struct EmulatedRegion;

/// Has the handler explain faults in `region`; the first call installs it. At most 16
/// regions at a time; throws SettingError for one more.
void watch_region(const EmulatedRegion& region);
/// Ends what watch_region() began for the region that begins at `base`.
void unwatch_region(std::uintptr_t base);

}  // namespace strata::inline STRATA_ABI::detail
