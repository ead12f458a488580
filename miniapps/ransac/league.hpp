// The teams of a fit on a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/team.hpp>
#include <strata/miniapps/ransac/fit.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// Where none are asked for. On a GPU more than run at a time only wait for others to end.
template <class Device>
inline constexpr index_t teams_of_device = Device::name[0] == 'C' ? 1024 : 16;

/// No more teams than there are iterations.
template <class Device>
Teams league_of(const FitRequest& request, index_t iterations) {
  const index_t count = request.teams > 0 ? request.teams : teams_of_device<Device>;
  const index_t size = std::max<index_t>(1, std::min(count, iterations));
  return request.team_size > 0 ? teams(size, request.team_size) : teams(size);
}

}  // namespace strata::inline STRATA_ABI::ransac
