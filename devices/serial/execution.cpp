// SPDX-License-Identifier: Apache-2.0
#include <strata/devices/host/device.hpp>
#include <strata/devices/serial/device.hpp>

namespace strata::inline STRATA_ABI {

namespace {

void run(const void*, const detail::ChunkRange& range, detail::ChunkFunction function) {
  if (range.begin < range.end) function(range.begin, range.end, 0);
}

int concurrency() { return 1; }

detail::Runner runner() { return {run, nullptr, concurrency()}; }

detail::DeviceInstance& backend() {
  static auto* const instance = new detail::HostDevice(Serial::name, runner);
  return *instance;
}

}  // namespace

constinit const detail::HostKind detail::serial_host{Serial::name, runner, backend, concurrency};

}  // namespace strata::inline STRATA_ABI
