// DeviceCost: how long a device takes for parts of a launch, as a line through measured times: what each part
// costs whatever its size (a kernel whose items are long takes as long for few of them as for many, where a
// GPU does all of them at once), and the speed beyond that. Plain data and arithmetic.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI::detail::sharing {

class DeviceCost {
 public:
  /// A part was measured. Copies do not count.
  void add(index_t items, double seconds);
  /// So fast, as far as is known from elsewhere; what is measured replaces it.
  void guess(double speed);

  bool is_known() const { return speed_ > 0; }
  double seconds(index_t items) const {
    return items > 0 && is_known() ? launch_ + static_cast<double>(items) / speed_ : 0;
  }
  /// Of a part, whatever its size.
  double launch_seconds() const { return launch_; }
  /// Items a second beyond that; 0: not known.
  double speed() const { return speed_; }
  /// Two sizes were measured, and the larger one took no less for an item.
  bool is_proportional() const { return is_known() && launch_ == 0 && small_.items > 0; }
  /// The largest part measured.
  index_t largest() const { return large_.items; }
  /// By how much of what was measured later it was wrong, of late; 1: nothing was foretold yet.
  double deviation() const { return deviation_; }

 private:
  struct Sample {
    index_t items = 0;
    double seconds = 0;
    void blend(index_t more_items, double more_seconds);
  };
  void fit();

  Sample small_, large_;
  double launch_ = 0, speed_ = 0, deviation_ = 1;
};

}  // namespace strata::inline STRATA_ABI::detail::sharing
