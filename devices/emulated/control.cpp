// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <strata/core/error.hpp>
#include <strata/core/settings.hpp>
#include <strata/devices/emulated/call_counts.hpp>
#include <strata/devices/emulated/calls.hpp>
#include <strata/devices/emulated/control.hpp>
#include <strata/devices/emulated/instance.hpp>
#include <strata/devices/emulated/platform.hpp>

namespace strata::inline STRATA_ABI::emulated {

using detail::Platform;

Config default_config() {
  const Settings& s = settings();
  constexpr double giga = 1e9, micro = 1e-6;
  return {.count = s.emulated_count,
          .capacity = s.emulated_capacity,
          .threads = s.emulated_threads,
          .host_to_device_bandwidth = s.emulated_host_bandwidth * giga,
          .device_to_host_bandwidth = s.emulated_host_bandwidth * giga,
          .host_link_total = 0,
          .peer_bandwidth = s.emulated_peer_bandwidth * giga,
          .memory_bandwidth = s.emulated_memory_bandwidth * giga,
          .copy_latency = s.emulated_copy_latency_us * micro,
          .launch_latency = s.emulated_launch_latency_us * micro,
          .seconds_per_item = 1e-9,
          .host_submit_cost = 1e-6,
          .reads_files = false,
          .managed_page = s.emulated_managed_page,
          .fault_latency = s.emulated_fault_latency_us * micro};
}

Config config() { return Platform::get().configuration(); }

void configure(const Config& config) { Platform::get().build(config); }

void set_capacity(int instance, index_t bytes) {
  Platform& platform = Platform::get();
  platform.instance(instance);
  if (bytes < 0)
    throw SettingError("emulated::set_capacity: asked for " + std::to_string(bytes) + " bytes on Emulated{" +
                       std::to_string(instance) + "}; give a number that is not negative");
  platform.memory->set_capacity(instance, static_cast<std::size_t>(bytes));
}

index_t used(int instance) { return static_cast<index_t>(Platform::get().instance(instance).used()); }

index_t peak(int instance) {
  Platform& platform = Platform::get();
  platform.instance(instance);
  return static_cast<index_t>(platform.memory->peak(instance));
}

void fail(Fault what, int k) {
  if (k < 1) throw Error("emulated::fail: k is " + std::to_string(k) + "; operations are counted from 1");
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  platform.faults[static_cast<int>(what)] = k;
}

void clear_faults() {
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  for (int& count : platform.faults) count = 0;
}

double now() {
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  platform.settle_faults();
  return platform.timeline.now();
}

void advance(double seconds) {
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  platform.settle_faults();
  platform.timeline.host_advance(seconds);
}

HeldClock::HeldClock() {
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  ++platform.clock_holds;
}
HeldClock::~HeldClock() {
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  --platform.clock_holds;
}

void reset_time() { Platform::get().reset_time(); }

void keep_trace(bool keep) {
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  platform.timeline.keep_trace(keep);
}

std::vector<Operation> trace() {
  using Kind = detail::Resource::Kind;
  Platform& platform = Platform::get();
  const std::lock_guard lock(platform.mutex);
  platform.settle_faults();
  std::vector<Operation> operations;
  for (const detail::TraceEntry& entry : platform.timeline.trace()) {
    const auto& [kind, instance, target] = entry.resource;
    std::string engine = kind == Kind::Host       ? "host"
                         : kind == Kind::Compute  ? "compute"
                         : kind == Kind::Upload   ? "upload"
                         : kind == Kind::Download ? "download"
                         : kind == Kind::Memory   ? "memory"
                                                  : "peer";
    if (instance >= 0) engine += " " + std::to_string(instance);
    if (kind == Kind::Peer) engine += " " + std::to_string(target);
    operations.push_back({engine, entry.label, static_cast<std::uint64_t>(entry.queue), entry.time.start,
                          entry.time.end, entry.bytes});
  }
  return operations;
}

Calls calls() {
  const detail::CallCounts& now = detail::emulated_calls;
  return {now.kernels,     now.copies,  now.prefetches, now.records,
          now.queue_waits, now.queries, now.host_waits, now.allocations};
}

}  // namespace strata::inline STRATA_ABI::emulated
