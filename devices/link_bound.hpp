// What a device may plan a kernel by: nearly all that it reaches lies in the host's memory, so that it takes
// as long as the link to that does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// Whether that is so of the kernels that the calling thread launches.
inline constinit thread_local bool kernels_are_link_bound = false;

/// Says so of those that are launched until its end, if `are_link_bound`.
class LinkBoundScope {
 public:
  explicit LinkBoundScope(bool are_link_bound) : before_(kernels_are_link_bound) {
    kernels_are_link_bound = are_link_bound;
  }
  ~LinkBoundScope() { kernels_are_link_bound = before_; }
  LinkBoundScope(const LinkBoundScope&) = delete;
  LinkBoundScope& operator=(const LinkBoundScope&) = delete;

 private:
  const bool before_;
};

}  // namespace strata::inline STRATA_ABI::detail
