#include <strata/devices/host/device.hpp>
#include <strata/devices/serial/device.hpp>

namespace strata::inline STRATA_ABI {

namespace {

void run(const void*, const detail::ChunkRange& range, detail::ChunkFunction function) {
  if (range.begin < range.end) function(range.begin, range.end, 0);
}

}  // namespace

Serial::Serial(int index) { detail::require_only_instance(name, index); }

int Serial::concurrency() { return 1; }

detail::Runner Serial::runner() { return {run, nullptr, 1}; }

detail::DeviceInstance& Serial::backend() const {
  static auto* const instance = new detail::HostDevice(name, runner);
  return *instance;
}

constinit const detail::HostKind detail::serial_host{Serial::name, Serial::runner,
                                                     []() -> DeviceInstance& { return Serial().backend(); },
                                                     Serial::concurrency};

}  // namespace strata::inline STRATA_ABI
