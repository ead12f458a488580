// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <strata/algorithms/streaming/stream_report.hpp>
#include <strata/core/bytes.hpp>

namespace strata::inline STRATA_ABI {

std::string StreamReport::explain() const {
  char line[256];
  std::string text = plan;
  if (seconds > 0) {
    const auto rate = [&](index_t bytes) { return static_cast<double>(bytes) / seconds * 1e-9; };
    std::snprintf(line, sizeof line,
                  "  took %.3g s (predicted %.3g): %.3g GB/s to the device, %.3g GB/s from it%s\n", seconds,
                  predicted_seconds, rate(bytes_to_device), rate(bytes_to_host),
                  pinned ? "" : "; some arrays are not pinned: their copies go through staging buffers");
    text += line;
    if (bytes_direct > 0) {
      std::snprintf(line, sizeof line, "  %s between files and the device itself\n",
                    string_from_bytes(bytes_direct).c_str());
      text += line;
    }
    if (bytes_between_devices > 0) {
      std::snprintf(line, sizeof line, "  %s from device to device\n",
                    string_from_bytes(bytes_between_devices).c_str());
      text += line;
    }
  }
  if (predicts_virtual && predicted_seconds > 0)
    text +=
        "  the prediction is in virtual time of the emulated device; what it took is real time on this "
        "machine\n";
  return text;
}

}  // namespace strata::inline STRATA_ABI
