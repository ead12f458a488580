// SPDX-License-Identifier: Apache-2.0
#include <strata/views/coherent/transfer_counters.hpp>

namespace strata::inline STRATA_ABI {

namespace {

std::string to_json(const TransferCount& count) {
  return "{\"bytes\": " + std::to_string(count.bytes) + ", \"count\": " + std::to_string(count.count) + "}";
}

std::string to_json(const PageFaults& faults) {
  if (!faults.is_known) return "\"unknown\"";
  return "{\"count\": " + std::to_string(faults.count) +
         ", \"to_devices\": " + std::to_string(faults.to_devices) +
         ", \"to_host\": " + std::to_string(faults.to_host) + "}";
}

}  // namespace

std::string to_json(const TransferCounters& c) {
  return "{\"host_to_device\": " + to_json(c.host_to_device) +
         ", \"device_to_host\": " + to_json(c.device_to_host) + ", \"peer\": " + to_json(c.peer) +
         ", \"same_device\": " + to_json(c.same_device) + ", \"allocated\": " + to_json(c.allocated) +
         ", \"prefetched_to_devices\": " + to_json(c.prefetched_to_devices) +
         ", \"prefetched_to_host\": " + to_json(c.prefetched_to_host) + ", \"faults\": " + to_json(c.faults) +
         "}";
}

}  // namespace strata::inline STRATA_ABI
