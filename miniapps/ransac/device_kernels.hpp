// The kernels of a fit on a device, the same for static and dynamic sharing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/algorithms/team.hpp>
#include <strata/miniapps/ransac/claims.hpp>
#include <strata/miniapps/ransac/flow.hpp>
#include <strata/views/atomic.hpp>

namespace strata::inline STRATA_ABI::ransac {

/// A candidate as one number: the best one is the smallest.
STRATA_FUNCTION inline std::int64_t rank_of(const Candidate& candidate) {
  return (static_cast<std::int64_t>(candidate.outliers) << 32) | candidate.iteration;
}
inline constexpr std::int64_t no_rank = INT64_MAX;
inline Candidate candidate_of(std::int64_t rank) {
  if (rank == no_rank) return {-1, -1};
  return {static_cast<std::int32_t>(rank & 0xffffffff), static_cast<std::int32_t>(rank >> 32)};
}

/// A team's part of a fit: iterations, one after the other, as `Iterations` (claims.hpp) gives them.
/// kernel(member, vectors, samples, candidates, found, best, begun): `found` counts the candidates. Of size
/// 0 where nobody asks: `best`, the rank of the best one, and `begun`, a late iteration, for the host to see.
template <class Iterations>
struct WorkOff {
  Iterations iterations;
  std::int32_t error, limit;

  template <detail::Member M>
  STRATA_FUNCTION void operator()(const M& member, const auto& vectors, const auto& samples,
                                  const auto& candidates, const auto& found, const auto& best,
                                  const auto& begun) const {
    index_t mine = 0, next = 0;
    single(
        per_team(member), [&](index_t& i) { i = iterations.first(member.league_rank()); }, mine);
    while (mine < iterations.end) {
      // Claimed ahead: the iteration hides how long that takes. Only the member that claims has it.
      single(per_team(member), [&] {
        next = iterations.next(mine);
        if (begun.extent(0) > 0) atomic_store(&begun(0), mine, system_scope);
      });
      const std::int32_t outliers = outliers_of(member, mine, vectors, samples, error);
      single(
          per_team(member),
          [&](index_t& i) {
            if (outliers >= 0 && outliers < limit) {
              const Candidate candidate{static_cast<std::int32_t>(i), outliers};
              candidates(atomic_fetch_add(&found(0), 1)) = candidate;
              if (best.extent(0) > 0) atomic_fetch_min(&best(0), rank_of(candidate));
            }
            i = next;
          },
          mine);
    }
  }
};

/// What the host needs to know of a dynamic fit, in memory that it reads without a fault.
struct Conclusion {
  std::int64_t taken, found, best;
};
/// Writes it, and makes the counters zero for the next fit, without their pages leaving the device:
/// kernel(0, found, best, conclusion).
struct Conclude {
  SystemAtomics<std::int64_t> tickets;

  STRATA_FUNCTION void operator()(auto, const auto& found, const auto& best, const auto& conclusion) const {
    conclusion(0) = {tickets(0).exchange(0), found(0), best(0)};
    found(0) = 0;
    best(0) = no_rank;
  }
};

}  // namespace strata::inline STRATA_ABI::ransac
