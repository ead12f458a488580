// plan_shares: which devices take part in a shared launch, and where each begins. Pure logic: no device, no
// clock.
//
// The rule: a shared launch is never to take more than 5 % longer than the better device takes alone. So a
// device takes part only where, by what earlier launches have shown and by the copies that it would need,
// there and back, the launch takes 8 % less with it, or 3 % less than one of one device once shared ones were
// timed; otherwise the fastest does all. What was foretold is corrected by how long such launches took: whole
// launches, as parts of a shared one say little of one device alone.
//
// A device that is left out may have become faster, or was measured while it was cold: after 4 launches
// without it, then 16, 64, 256, 1024 each time, it gets a part that it should have done in half of the time
// of the launch. After 32 shared launches, then 128, 512, 1024, the fastest does all again, where its copies
// cost no more than a launch.
//
// Where the speed of a device is not known, the launch finds out: each device begins with the rows that lie
// on it, and takes small parts until it is measured (SharedClaims). A device that has got none in three such
// launches is left out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <strata/algorithms/sharing/launch_history.hpp>
#include <strata/core/function.hpp>
#include <strata/core/layout.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

struct ShareRequest {
  ResidentRows range{0, 0};
  index_t unit = 1;             // cuts are multiples of this
  std::vector<double> weights;  // by which the user has devices begin; empty: by this plan
  /// Of each device, the run of items whose rows it has, and not all others; empty: none.
  std::vector<ResidentRows> lying;
  /// Seconds of the copies that a device needs for these items, there and back.
  Function<double(std::size_t device, ResidentRows items)> move_seconds;
};

struct SharePlan {
  enum class Kind {
    Search,  ///< speeds are to be found
    Shared,
    Alone,  ///< one device does all
    Try     ///< one device does nearly all, and others are tried again
  };
  struct Device {
    ResidentRows home{0, 0};
    bool takes_part = false;
    double seconds = 0;  // that it needs for its home, with the copies there; 0: not known
    double sure = 0;     // how much of the home it takes at once: parts are for what was not foretold
  };
  Kind kind = Kind::Search;
  std::vector<Device> devices;
  double seconds = 0;     // of the launch, as foretold, not corrected; 0: not known
  double moving = 0;      // of these, the copies of the device that needs most for them
  std::size_t first = 0;  // where one device does all, or nearly: that one
};

SharePlan plan_shares(const ShareRequest& request, const LaunchRecord& record);

}  // namespace strata::inline STRATA_ABI::detail::sharing
