// ClaimCounter: a range of rows of which kernels of devices take parts from one end and threads of hosts from
// the other, while both work, until they meet. A claim is one atomic addition to one number that all share.
//
// The number has what devices have taken in its lower half, what hosts have in its upper one. An addition
// returns what both had taken before, so it says what is the claimer's own, and what is left after it. Nobody
// gets what another one has: of what is asked for beyond the rows that are left, nothing is given. So rows
// near an end are done on the same side each time, and where a launch is repeated, only those in the middle
// move.
//
// Counted in units of rows: halves do not run over, as there are at most most_units, and a claimer that gets
// nothing asks no more. Claims order nothing: claimers write rows of their own, and who reads them waits for
// all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/layout.hpp>
#include <strata/views/system_atomics.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

/// Units [begin, end), counted from the claimer's end, and what nobody has claimed after it.
struct UnitClaim {
  index_t begin = 0, end = 0, left = 0;
};

class ClaimCounter {
 public:
  enum class Side { Devices, Hosts };
  static constexpr index_t most_units = index_t{1} << 28;

  /// Units begin at multiples of `unit`, which grows until there are few enough. `devices_first`: devices
  /// take from the lower end.
  ClaimCounter(ResidentRows range, index_t unit, bool devices_first);
  /// On the same range, with the number, which is zero at first.
  ClaimCounter with(const SystemAtomics<std::uint64_t>& number) const {
    ClaimCounter counter = *this;
    counter.number_ = number;
    return counter;
  }

  STRATA_FUNCTION index_t units() const { return units_; }
  /// Rows of a unit.
  index_t unit() const { return unit_; }

  /// At most `count` units, which is at most units().
  STRATA_FUNCTION UnitClaim take(Side side, index_t count) const {
    const bool is_device = side == Side::Devices;
    const auto more = static_cast<std::uint64_t>(count);
    const std::uint64_t before = number_(0).fetch_add(is_device ? more : more << half);
    const auto of_devices = static_cast<index_t>(before & ((std::uint64_t{1} << half) - 1)),
               of_hosts = static_cast<index_t>(before >> half);
    const index_t left = units_ - of_devices - of_hosts, begin = is_device ? of_devices : of_hosts;
    if (left <= 0) return {};
    const index_t mine = count < left ? count : left;
    return {begin, begin + mine, left - mine};
  }
  /// The rows of a claim.
  STRATA_FUNCTION ResidentRows rows(Side side, const UnitClaim& claim) const {
    if (claim.begin >= claim.end) return {range_.begin, range_.begin};
    const bool is_lower = (side == Side::Devices) == devices_first_;
    const index_t first = is_lower ? claim.begin : units_ - claim.end,
                  last = is_lower ? claim.end : units_ - claim.begin, begin = origin_ + first * unit_,
                  end = origin_ + last * unit_;
    return {begin > range_.begin ? begin : range_.begin, end < range_.end ? end : range_.end};
  }

 private:
  static constexpr int half = 32;

  ResidentRows range_;
  index_t unit_, origin_, units_;
  bool devices_first_;
  SystemAtomics<std::uint64_t> number_;
};

/// How large the claims of a kernel's teams are: what is left over `divisor`, at least `least` units.
struct TeamClaims {
  index_t divisor = 1, least = 1;
  STRATA_FUNCTION index_t size(index_t left) const {
    const index_t part = left / divisor;
    return part > least ? part : least;
  }
};
/// What is left over four times the teams of all devices, each counted by its device's part of all work: a
/// team has a claim in work and the next one. At least what the device does with such claims in
/// `least_seconds`. `speed`: of the device, in units a second; 0: not known.
TeamClaims team_claims(index_t units, index_t teams, double share, double speed, double least_seconds);

/// What a host knows when it claims beside devices. Speeds are in units a second; 0: not known.
struct HostClaimState {
  index_t units = 0, left = 0;  ///< of all, and that nobody has claimed, as far as is known
  index_t foretold = 0;         ///< that it does first, by earlier launches; 0: not known
  double speed = 0;             ///< of this host
  double others = 0;            ///< of all others
  double least_seconds = 0;     ///< of a claim
  int claims = 0;               ///< that it has made
};
/// The units that it claims next: half of what it does until the end if all go on as now, at least what it
/// does in the least time; small parts until its speed is known. 0: none any more, as others have done all
/// that is left before it has done so much.
index_t host_claim(const HostClaimState& state);

}  // namespace strata::inline STRATA_ABI::detail::sharing
