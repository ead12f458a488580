// SharedReport: who did what in a shared launch (sharing/dynamic.hpp).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <strata/core/config.hpp>

namespace strata::inline STRATA_ABI {

/// Returned by shared launches. Times are in seconds: virtual ones where all devices are emulated.
struct SharedReport {
  /// One of the devices.
  struct Device {
    std::string name;     ///< "Cuda{0}"
    index_t items = 0;    ///< left-most indices that it did
    int claims = 0;       ///< parts that it took and did
    double share = 0;     ///< of all items
    double speed = 0;     ///< items a second, as measured last; 0: not measured
    double end = 0;       ///< of its last part, from the beginning of the launch
    std::string failure;  ///< why it took no more; empty: it did not fail
  };
  std::vector<Device> devices;   ///< in the order of the place
  index_t items = 0;             ///< of all
  int claims = 0;                ///< of all
  double seconds = 0;            ///< from the beginning to the end of the last part
  double foretold = 0;           ///< the same, by what earlier launches had shown; 0: nothing was known
  double claim_seconds = 0;      ///< in which host threads decided who does what, always real ones
  bool kernels_claimed = false;  ///< kernels claimed for themselves, not the host for them
  double tail = 0;               ///< from when the first device had nothing more to do to the end

  /// Text for people: a line a device.
  std::string explain() const;
};

}  // namespace strata::inline STRATA_ABI
