// StepLengths: the lengths of steps that are done together, before the least stable step of each is known.
// They are assumed; after the steps the rule (SetNextTimeStep) says what they should have been.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <strata/miniapps/explicit_dynamics/kernels.hpp>

namespace strata::inline STRATA_ABI::dynamics {

/// The lengths of a step and of the one before.
struct StepTimes {
  double dt = 0, prev_dt = 0;
};

class StepLengths {
 public:
  enum class Outcome {
    Settled,  ///< the lengths are those of the rule, and clock() is that after the steps
    Again,    ///< they are not: the steps have to be done again, with what times() says now
    Failed    ///< the steps before failed_step() are right, and its elements fail; clock() says how
  };

  /// The steps after `begin` up to where another stable length is decided.
  static index_t until_decided(const Clock& begin, const Parameters& p) {
    return p.dt_every - begin.step % p.dt_every;
  }

  /// `count` steps, at most until_decided(). `first_stable` is a guess of the least stable step of step 0.
  StepLengths(const Clock& begin, const Parameters& p, double first_stable, int count)
      : begin_(begin), clock_(begin), rule_{&clock_, 0, p.safety, p.collapse, p.dt_every} {
    // What the rule says if no step is too long for it.
    rule_(begin.step == 0 ? first_stable : 1e300);
    lengths_.assign(static_cast<std::size_t>(count), clock_.dt);
  }
  StepLengths(const StepLengths&) = delete;
  StepLengths& operator=(const StepLengths&) = delete;

  /// What the loops of the steps see: entry k is for the elements of step k, and for the nodes of the step
  /// before it.
  std::vector<StepTimes> times() const {
    std::vector<StepTimes> all{{begin_.dt, begin_.prev_dt}};
    for (const double dt : lengths_) all.push_back({dt, all.back().dt});
    return all;
  }

  /// With the least stable step that each step has found. Each Again settles one more step at least.
  template <class Found>
  Outcome settle(const std::vector<Found>& found) {
    clock_ = begin_;
    for (std::size_t k = 0; k < lengths_.size(); ++k) {
      rule_(found[k].dt);
      if (clock_.failure != Failure::None) {
        failed_ = static_cast<int>(k);
        return Outcome::Failed;
      }
      if (clock_.dt == lengths_[k]) continue;
      std::fill(lengths_.begin() + static_cast<std::ptrdiff_t>(k), lengths_.end(), clock_.dt);
      return Outcome::Again;
    }
    return Outcome::Settled;
  }

  const Clock& clock() const { return clock_; }
  int failed_step() const { return failed_; }

 private:
  const Clock begin_;
  Clock clock_;
  const SetNextTimeStep<Clock*> rule_;
  std::vector<double> lengths_;
  int failed_ = 0;
};

}  // namespace strata::inline STRATA_ABI::dynamics
