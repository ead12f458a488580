// StreamReport: the plan and the measurements of a streamed launch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <strata/algorithms/streaming/plan/stream_problem.hpp>

namespace strata::inline STRATA_ABI {

/// Returned by streamed launches. Times are in seconds, bytes are those that crossed the link. For several
/// devices slices and bytes copied are sums; chunk, slots, device_bytes and times are the largest.
struct StreamReport {
  StreamScheduler scheduler = StreamScheduler::Automatic;  ///< of iterations; Automatic: slices one by one
  index_t chunk = 0;                                       ///< rows of a slice
  int slots = 0;                                           ///< slices, or their pieces, under way at once
  int steps_per_pass = 1;                                  ///< of an iteration
  int passes = 0;                                          ///< over all rows
  index_t slices = 0;                                      ///< in all passes
  index_t device_bytes = 0;                                ///< of buffers
  index_t bytes_to_device = 0;                             ///< copied from the host
  index_t bytes_to_host = 0;                               ///< copied to the host
  index_t bytes_moved = 0;                                 ///< copied within the device
  index_t bytes_between_devices = 0;                       ///< copied from another device
  index_t bytes_direct = 0;                                ///< of these, between files and the device itself
  double predicted_seconds = 0;   ///< by the model; 0: the device's speed is not known
  bool predicts_virtual = false;  ///< whether the prediction is of a time that the device only computes
  double seconds = 0;             ///< measured; 0: it was only planned
  int devices = 1;                ///< that had a part of the rows
  bool pinned = true;             ///< whether all arrays could be copied at the full speed of the link
  std::string plan;               ///< for people

  /// Text for people: plan, prediction and measurements.
  std::string explain() const;
};

}  // namespace strata::inline STRATA_ABI
