// The kernel of a launch whose parts kernels claim: a league of teams (blocks of a GPU), each of which works
// off one claim after the other. One thread of a team claims, the next part before the work on this one, so
// that the work hides how long that takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include <strata/algorithms/sharing/claim_counter.hpp>
#include <strata/algorithms/team.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

/// Whether teams are blocks of a GPU, compiled by its own compiler; else they are threads of a host.
template <class D>
inline constexpr bool teams_are_blocks = !std::is_same_v<KernelCallOf<D>, KernelCall>;
/// Threads of a block whose size the device chooses.
inline constexpr index_t block_of_claims = 128;
/// Teams of a kernel. On a GPU about as many as run at a time; those that come late find nothing left.
template <class D>
inline constexpr index_t claiming_teams = teams_are_blocks<D> ? 2048 : 16;
inline constexpr index_t most_claiming_teams = 2048;

/// What the teams of a device have done, in one number to which each adds once: teams that have ended, claims
/// and units.
struct TeamTally {
  static constexpr int claims_at = 28, teams_at = 52;
  static_assert((index_t{1} << claims_at) == ClaimCounter::most_units &&
                most_claiming_teams < (index_t{1} << (64 - teams_at)));
  STRATA_FUNCTION static constexpr std::uint64_t of_team(index_t claims, index_t units) {
    return std::uint64_t{1} << teams_at | static_cast<std::uint64_t>(claims) << claims_at |
           static_cast<std::uint64_t>(units);
  }
  STRATA_FUNCTION static constexpr index_t teams(std::uint64_t tally) {
    return static_cast<index_t>(tally >> teams_at);
  }
  static constexpr index_t claims(std::uint64_t tally) {
    return static_cast<index_t>((tally >> claims_at) & ((std::uint64_t{1} << (teams_at - claims_at)) - 1));
  }
  static constexpr index_t units(std::uint64_t tally) {
    return static_cast<index_t>(tally & ((std::uint64_t{1} << claims_at) - 1));
  }
};

/// Of one device: from what it claims, and where it says what it has done.
struct DeviceClaims {
  ClaimCounter counter;
  TeamClaims sizes;
  index_t teams;
  SystemAtomics<std::uint64_t> tally;  // of the device, zero at first
  std::uint64_t* result;               // the same for the host, in its memory, once all teams have ended
};

/// A box of work items, of which a team gets rows: the left-most indices. `LastFastest`: neighbouring threads
/// take neighbouring last indices, else first ones.
template <int Rank, bool LastFastest>
struct RowBox {
  index_t lower[Rank], extent[Rank];

  /// Calls body(i...) for the items of the rows that are those of member `rank` of `size`.
  template <class Body>
  STRATA_FUNCTION void for_items(ResidentRows rows, index_t rank, index_t size, const Body& body) const {
    if constexpr (LastFastest && Rank == 2)
      if (extent[1] >= size) {  // a row after the other
        for (index_t i = rows.begin; i < rows.end; ++i)
          for (index_t j = rank; j < extent[1]; j += size) body(i, lower[1] + j);
        return;
      }
    // By axis: the fastest first. A step of `size` items is added digit by digit, without a division.
    index_t extents[Rank], at[Rank], step[Rank], items = 1;
    for (int axis = 0; axis < Rank; ++axis) {
      const int d = LastFastest ? Rank - 1 - axis : axis;
      extents[axis] = d == 0 ? rows.end - rows.begin : extent[d];
      items *= extents[axis];
    }
    if (rank >= items) return;
    set_digits(at, rank, extents);
    set_digits(step, size, extents);
    for (index_t k = rank; k < items; k += size) {
      call(body, rows.begin, at, std::make_index_sequence<Rank>());
      index_t carry = 0;
      for (int axis = 0; axis + 1 < Rank; ++axis) {
        at[axis] += step[axis] + carry;
        carry = at[axis] >= extents[axis] ? 1 : 0;
        if (carry != 0) at[axis] -= extents[axis];
      }
      at[Rank - 1] += step[Rank - 1] + carry;
    }
  }

 private:
  STRATA_FUNCTION static void set_digits(index_t (&digits)[Rank], index_t value,
                                         const index_t (&extents)[Rank]) {
    for (int axis = 0; axis + 1 < Rank; ++axis) {
      digits[axis] = value % extents[axis];
      value /= extents[axis];
    }
    digits[Rank - 1] = value;
  }
  template <class Body, std::size_t... D>
  STRATA_FUNCTION void call(const Body& body, index_t first_row, const index_t (&at)[Rank],
                            std::index_sequence<D...>) const {
    body((at[LastFastest ? Rank - 1 - D : D] + (D == 0 ? first_row : lower[D]))...);
  }
};
/// Of one dimension. Threads of a whole block have several items in flight, as those of plain kernels do.
template <bool LastFastest>
struct RowBox<1, LastFastest> {
  template <class Body>
  STRATA_FUNCTION void for_items(ResidentRows rows, index_t rank, index_t size, const Body& body) const {
    constexpr index_t block = block_of_claims, together = Body::items_in_flight;
    index_t i = rows.begin + rank;
    if constexpr (together > 1)
      if (size == block)
        for (; i + (together - 1) * block < rows.end; i += together * block)
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
          for (index_t k = 0; k < together; ++k) body(i + k * block);
    for (; i < rows.end; i += size) body(i);
  }
};

/// Body: the user's kernel, made ready for the device.
template <class Body, class Box>
struct ClaimingTeams {
  static constexpr auto side = ClaimCounter::Side::Devices;
  Body body;
  Box box;
  DeviceClaims claims;

  template <Member M>
  STRATA_FUNCTION void operator()(const M& member) const {
    const ClaimCounter& counter = claims.counter;
    UnitClaim mine, next;
    index_t number = 0, units = 0;  // only the member that claims has these, and `next`
    single(
        per_team(member),
        [&](UnitClaim& claim) { claim = counter.take(side, claims.sizes.size(counter.units())); }, mine);
    while (mine.begin < mine.end) {
      single(per_team(member), [&] {
        ++number;
        units += mine.end - mine.begin;
        next = mine.left > 0 ? counter.take(side, claims.sizes.size(mine.left)) : UnitClaim{};
      });
      box.for_items(counter.rows(side, mine), member.team_rank(), member.team_size(), body);
      single(
          per_team(member), [&](UnitClaim& claim) { claim = next; }, mine);
    }
    single(per_team(member), [&] {
      const std::uint64_t own = TeamTally::of_team(number, units),
                          all = claims.tally(0).fetch_add(own, order_acq_rel) + own;
      if (TeamTally::teams(all) == claims.teams) *claims.result = all;
    });
  }
};

/// Rows of a unit of claims: an item for each thread of a block, or rows of which neighbouring threads write
/// whole cache lines.
template <class D, class R, class Body>
constexpr index_t unit_of_claims() {
  constexpr index_t warp = 32, lanes = 8;
  if constexpr (WorkOf<R>::rank == 1) return teams_are_blocks<D> ? block_of_claims : lanes;
  else return teams_are_blocks<D> && !Body::last_index_fastest ? warp : 1;
}

/// Enqueues the kernel. `bound` is the user's kernel with its views, `work` all of the launch.
template <class D, class R, class K>
void launch_claiming(const char* label, const On<D>& where, const R& work, const K& bound,
                     const DeviceClaims& claims) {
  using W = WorkOf<R>;
  using Body = BodyFor<D, typename W::tag, K, W::rank>;
  const auto range = W::get(work);
  using Static = typename HintsOf<std::remove_const_t<decltype(range)>>::static_hints;
  using Box = RowBox<W::rank, Static::last_fastest || Body::last_index_fastest>;
  using Work = ClaimingTeams<Body, Box>;
  Box box;
  if constexpr (W::rank > 1)
    for (int d = 0; d < W::rank; ++d) {
      box.lower[d] = range.lower[d];
      box.extent[d] = std::max<index_t>(0, range.upper[d] - range.lower[d]);
    }
  Capture views = make_capture<D>();
  CaptureScope scope(views);
  const BodyFor<D, void, Work, teams_rank> teams_body{Work{Body{bound}, box, claims}};
  scope.end();
  const LaunchInfo info =
      make_info<D>(label, where, views, typeid(FunctorOf<K>).name(), tag_type<typename W::tag>());
  D::execution::for_teams(info, WorkOf<Teams>::get(teams(claims.teams)), teams_body);
}

/// Makes the numbers of a launch zero where the device is, so that their page need not move.
struct MakeZero {
  SystemAtomics<std::uint64_t> numbers;
  STRATA_FUNCTION void operator()(auto i) const { numbers(static_cast<index_t>(i)).store(0); }
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
