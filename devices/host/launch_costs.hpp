// LaunchCosts: what the items of kernels cost, learned from runs of a team, and how many workers a run is
// worth.
//
// Handing work to another thread costs about a microsecond if it looks for work, and up to fifty if it
// sleeps, so a short run is fastest on few threads or one. How long it will take is learned,
// for each kernel and size of range (to a factor of four, as items cost more out of cache), from the time in
// which the calling thread did its own share. A cost rises by a factor of four a run at most, so that a run
// in which the system took the processor away is soon forgotten, and sinks by a quarter of the difference:
// kernels whose items differ from run to run count as the dear ones. A run whose cost is not known is worth
// all workers.
//
// What is wrong by much is mended while it lasts: a run that was begun alone is handed out when it turns out
// to be long (worker_share.cpp). And where several took longer than one would have, twice in a row, as other
// programs have their processors, the next runs of that kernel are begun alone: three, then seven, ... 255
// before several try it again, and fewer where that pays.
//
// A hash of the kernel's function says in which four places of the table it may be. One that is used goes a
// place up, and a new one takes the last: what runs often stays. Used by one thread at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail {

/// The cost of the items of one kernel, for ranges of about one size.
class LaunchCost {
 public:
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  /// The nanoseconds that one thread needs for so many items; `unknown` before the first learn().
  double of(index_t items) const { return ns_an_item_ * static_cast<double>(items); }
  /// They took one thread so long.
  void learn(index_t items, double ns);

  /// Several threads took so long, from the call to the return, for what should take one `alone_ns`.
  void try_several(double ns, double alone_ns);
  /// Whether the run that follows is to be begun alone, as several threads did not pay.
  bool avoids_several();

 private:
  double ns_an_item_ = unknown;
  std::uint16_t left_ = 0;     // runs to be begun alone
  std::uint16_t between_ = 0;  // two tries
};

class LaunchCosts {
 public:
  /// The cost of a launch of `items` items, at least one; `kernel` identifies the kernel. Valid until the
  /// next call.
  LaunchCost& of(std::uintptr_t kernel, index_t items);

 private:
  struct Entry {
    std::uintptr_t key = 0;
    LaunchCost cost;
  };
  static constexpr std::size_t sets = 128, ways = 4;
  std::array<std::array<Entry, ways>, sets> table_{};
};

/// How many of so many workers that have a part each run them in so many rounds.
constexpr int workers_of_rounds(int parts, int rounds) {
  return parts / rounds + (parts % rounds != 0 ? 1 : 0);
}

/// How many should run: all, or as many as need 2, 4, 8, ... rounds, so that each has work for `share_ns`;
/// one where there is less.
int workers_worth(double cost_ns, double share_ns, int parts);

}  // namespace strata::inline STRATA_ABI::detail
