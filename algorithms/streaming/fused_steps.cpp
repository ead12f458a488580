// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <strata/algorithms/streaming/fused_steps.hpp>
#include <strata/core/error.hpp>

namespace strata::inline STRATA_ABI::detail {

index_t fused_segment(index_t rows, index_t columns, index_t lost, bool many_members) {
  // Teams for several waves on the largest GPUs, and for many threads; at most an eighth is lost.
  const index_t teams = many_members ? 2048 : 256;
  const index_t pieces = std::max<index_t>(1, teams / std::max<index_t>(1, columns));
  const index_t segment = std::max((rows + pieces - 1) / pieces, 8 * lost);
  const index_t count = (rows + segment - 1) / segment;
  return (rows + count - 1) / count;  // all alike
}

StreamReport joined(const StreamReport& first, const StreamReport& second) {
  StreamReport both = first;
  both.passes += second.passes;
  both.slices += second.slices;
  both.device_bytes = std::max(first.device_bytes, second.device_bytes);
  both.bytes_to_device += second.bytes_to_device;
  both.bytes_to_host += second.bytes_to_host;
  both.bytes_moved += second.bytes_moved;
  both.bytes_direct += second.bytes_direct;
  both.bytes_between_devices += second.bytes_between_devices;
  both.devices = std::max(first.devices, second.devices);
  both.predicted_seconds += second.predicted_seconds;
  both.seconds += second.seconds;
  both.pinned = first.pinned && second.pinned;
  both.plan += second.plan;
  return both;
}

namespace {
std::string iterate_name(const char* label) {
  return *label == 0 ? "streamed_iterate" : "streamed_iterate \"" + std::string(label) + "\"";
}
}  // namespace

void fail_reach(const char* label, int reach, const std::string& array, index_t left, index_t right) {
  throw Error(iterate_name(label) + ": \"" + array + "\" has halo(" + std::to_string(left) + ", " +
              std::to_string(right) + "), but the kernel's reach is " + std::to_string(reach) +
              ": let its member `reach` be the largest of all halos");
}
void fail_fused_shape(const char* label, const std::string& a, const std::string& b) {
  throw ShapeMismatch(iterate_name(label) +
                      ": several steps in one launch need states of "
                      "one shape; \"" +
                      a + "\" and \"" + b + "\" differ. Leave steps_per_launch out");
}
void fail_rest(const char* said, int done, int steps) {
  throw DataLost(std::string(said) + "\nBefore that " + std::to_string(done) + " of " +
                 std::to_string(steps) + " steps had been made: the states are not as before the call");
}

}  // namespace strata::inline STRATA_ABI::detail
