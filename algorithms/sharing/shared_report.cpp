// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include <strata/algorithms/sharing/shared_report.hpp>

namespace strata::inline STRATA_ABI {

std::string SharedReport::explain() const {
  char line[256];
  std::snprintf(line, sizeof line,
                "%lld items in %d claims, %.6f s, of which the tail took %.6f s; claiming took %.6f s\n",
                static_cast<long long>(items), claims, seconds, tail, claim_seconds);
  std::string text = line;
  if (kernels_claimed) text += "  kernels claimed for themselves\n";
  for (const Device& device : devices) {
    std::snprintf(line, sizeof line, ": %lld items (%.1f %%) in %d claims, until %.6f s, %.3g items/s",
                  static_cast<long long>(device.items), 100 * device.share, device.claims, device.end,
                  device.speed);
    text += "  " + device.name + line;
    if (!device.failure.empty()) text += "; failed: " + device.failure;
    text += "\n";
  }
  return text;
}

}  // namespace strata::inline STRATA_ABI
