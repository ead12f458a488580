// StreamedDynamics: a simulation whose fields go through its device in slices, and what is to be known of
// that.
#pragma once

#include <strata/algorithms/streaming/stream_report.hpp>
#include <strata/miniapps/explicit_dynamics/dynamics.hpp>

namespace strata::inline STRATA_ABI::dynamics {

class StreamedDynamics : public Dynamics {
 public:
  /// Of all fields, as the host has them.
  virtual index_t bytes() const = 0;
  /// Of the last run of steps.
  virtual const StreamReport& report() const = 0;
};

}  // namespace strata::inline STRATA_ABI::dynamics
