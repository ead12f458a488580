// Partial files: under which names files are written until they are whole, beside their places, and what is
// done with those that a killed run left behind.
//
// PATH.PID.partial is locked (flock) by the process that writes it for as long as it does; the lock ends with
// the process, however that ends. So whoever gets the lock of a partial file may remove it. Where a file
// system has no locks, nothing is removed.
#pragma once

#include <string>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::fem {

/// Where a link leads, as files are put beside that and not in the place of the link; else `path` itself.
std::string behind_links(const std::string& path);

/// Creates the partial file of `path` and locks it. Returns a descriptor to write to, and its name in `name`;
/// -1, and the reason in errno, where there can be none.
int create_partial(const std::string& path, std::string& name);

/// Removes the partial files of `path` that nobody writes any more, and where it is a .pvd file those of its
/// states. What cannot be looked at or removed, stays.
void remove_abandoned_partials(const std::string& path) noexcept;

}  // namespace strata::inline STRATA_ABI::fem
