// A fit, timed, reported and checked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <strata/miniapps/common/report.hpp>
#include <strata/miniapps/ransac/fit.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// Fits on the device that it was made for.
using FitOnIt = std::function<FitOutcome(const FitRequest&)>;

/// The mixes of device and host that there are, in both modes, in words; the hosts take `threads`. On a host
/// there are two: both modes.
struct Mix {
  const char* name;
  FitRequest request;
};
std::vector<Mix> mixes_of(const FitRequest& request, bool is_host, index_t threads);

/// Fits as requested, and reports times, shares, claims and bytes. Where there is `serial`, the candidates of
/// this fit and of each of `mixes` are checked against its.
void run_fit(const FitOnIt& fit, const FitRequest& request, const FitOnIt& serial,
             const std::vector<Mix>& mixes, miniapp::RunReport& report);

}  // namespace strata::inline STRATA_ABI::ransac
