#include <strata/views/coherent/transfer_counters.hpp>

namespace strata::inline STRATA_ABI {

namespace {

std::string to_json(const TransferCount& count) {
  return "{\"bytes\": " + std::to_string(count.bytes) + ", \"count\": " + std::to_string(count.count) + "}";
}

}  // namespace

std::string to_json(const TransferCounters& c) {
  return "{\"host_to_device\": " + to_json(c.host_to_device) +
         ", \"device_to_host\": " + to_json(c.device_to_host) + ", \"peer\": " + to_json(c.peer) +
         ", \"same_device\": " + to_json(c.same_device) + ", \"allocated\": " + to_json(c.allocated) + "}";
}

}  // namespace strata::inline STRATA_ABI
