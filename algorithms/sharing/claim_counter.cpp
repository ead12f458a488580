// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <strata/algorithms/sharing/claim_counter.hpp>
#include <strata/algorithms/streaming/plan/rows.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

ClaimCounter::ClaimCounter(ResidentRows range, index_t unit, bool devices_first)
    : range_{range.begin, std::max(range.begin, range.end)}, unit_(unit), devices_first_(devices_first) {
  // A range that begins within a unit has one more, and a last one.
  while (rows_of(range_) / unit_ >= most_units - 2) unit_ *= 2;
  origin_ = floor_div(range_.begin, unit_) * unit_;
  units_ = rows_of(range_) > 0 ? floor_div(range_.end - 1, unit_) - floor_div(range_.begin, unit_) + 1 : 0;
}

TeamClaims team_claims(index_t units, index_t teams, double share, double speed, double least_seconds) {
  constexpr double at_once = 2, guided = 2, least_share = 1.0 / 16;
  const auto all = static_cast<double>(units), count = static_cast<double>(teams);
  // Where the speed is not known: 64 claims a team, if all are that small.
  constexpr double most_claims = 64;
  const double least = speed > 0 ? speed * least_seconds / count : all / (most_claims * count);
  const double most = std::max(1.0, all / count);
  const double divisor = at_once * guided * count / std::clamp(share, least_share, 1.0);
  return {static_cast<index_t>(std::ceil(divisor)), static_cast<index_t>(std::clamp(least, 1.0, most))};
}

index_t host_claim(const HostClaimState& state) {
  if (state.left <= 0) return 0;
  if (!(state.speed > 0)) {
    constexpr int first_parts = 1024, most_doublings = 4;
    const index_t first = std::max<index_t>(state.units / first_parts, 1);
    return std::min(state.left, first << std::min(state.claims, most_doublings));
  }
  if (state.claims == 0 && state.foretold > 0) return std::min(state.foretold, state.left);
  const double left = static_cast<double>(state.left),
               least = std::max(1.0, state.least_seconds * state.speed);
  if (state.others > 0 && least / state.speed > left / state.others) return 0;
  const double others = state.others > 0 ? state.others : state.speed;
  const double size = std::max(left * state.speed / (state.speed + others) / 2, least);
  return size >= left ? state.left : static_cast<index_t>(size);
}

}  // namespace strata::inline STRATA_ABI::detail::sharing
