// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/any_host/device.hpp>
#include <strata/devices/host/device.hpp>
#include <strata/version.hpp>

namespace strata::inline STRATA_ABI {

namespace {

// What set_default() was given; null before.
constinit std::atomic<const detail::HostKind*> chosen{nullptr};

const detail::HostKind& host_of_setting() {
  const std::string& name = settings().host_device;
  if (name == "serial") return detail::serial_host;
  if (name == "threads") return detail::threads_host;
#if STRATA_HAS_TBB
  if (name == "tbb") return detail::tbb_host;
#endif
  throw NoSuchDevice("the setting host_device (--strata-host-device, STRATA_HOST_DEVICE), \"" + name +
                     "\": this build of Strata has no Tbb; configure it with STRATA_ENABLE_TBB=ON, or choose "
                     "serial or threads");
}

}  // namespace

const detail::HostKind& detail::default_host() {
  if (const HostKind* const set = chosen.load(std::memory_order_acquire)) return *set;
  return host_of_setting();
}

const detail::HostKind* detail::exchange_default_host(const HostKind* host) {
  return chosen.exchange(host, std::memory_order_acq_rel);
}

AnyHost::AnyHost(int index) : AnyHost() { detail::require_only_instance(device_name(), index); }

void AnyHost::set_default(const AnyHost& device) { detail::exchange_default_host(&device.host()); }

static_assert(Device<AnyHost>);

}  // namespace strata::inline STRATA_ABI
